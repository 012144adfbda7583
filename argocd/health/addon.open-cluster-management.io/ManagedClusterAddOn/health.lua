-- ManagedClusterAddOn: Progressing until the addon manager on the hub has seen it, Degraded when its definition is wrong
-- (an unsupported configuration, missing rights, manifests that cannot be applied), otherwise Healthy with what the cluster reports.
-- Conditions of v1alpha1 and v1beta1: Progressing, Configured, RegistrationApplied, ManifestApplied (hub), Available, Degraded (cluster).
local conditions = {}
local count = 0
if obj.status ~= nil then
  for _, condition in ipairs(obj.status.conditions or {}) do
    conditions[condition.type] = condition
    count = count + 1
  end
end

local function detail(condition)
  if condition.message ~= nil and condition.message ~= "" then
    return (condition.reason or "no reason") .. ": " .. condition.message
  end
  return condition.reason or "no reason"
end

local function is(type, status)
  local condition = conditions[type]
  return condition ~= nil and condition.status == status
end

if count == 0 then
  return {
    status = "Progressing",
    message = "Not processed yet; if this stays, no ClusterManagementAddOn of this name exists or the addon manager does not run"
  }
end

local progressing = conditions["Progressing"]
if progressing ~= nil and progressing.reason == "ConfigurationUnsupported" then
  return {status = "Degraded", message = "The configuration is not supported. " .. detail(progressing)}
end
local registration = conditions["RegistrationApplied"]
if registration ~= nil and registration.status == "False" and registration.reason == "SetPermissionFailed" then
  return {status = "Degraded", message = "The agent's rights on the hub cannot be set. " .. detail(registration)}
end
if is("ManifestApplied", "False") then
  return {status = "Degraded", message = "The agent's manifests cannot be applied. " .. detail(conditions["ManifestApplied"])}
end

if registration ~= nil and registration.status == "False" then
  return {status = "Healthy", message = "The agent is not registered yet. " .. detail(registration)}
end
local available = conditions["Available"]
if available == nil then
  return {status = "Healthy", message = "Not reported by the cluster yet"}
end
if available.status == "Unknown" then
  return {status = "Healthy", message = "Availability unknown. " .. detail(available)}
end
if available.status ~= "True" then
  return {status = "Healthy", message = "Not available. " .. detail(available)}
end
if is("Degraded", "True") then
  return {status = "Healthy", message = "Available; reported as degraded. " .. detail(conditions["Degraded"])}
end
if is("Configured", "False") then
  return {status = "Healthy", message = "Available; waits for its configuration. " .. detail(conditions["Configured"])}
end
if is("Progressing", "True") then
  return {status = "Healthy", message = "Available; " .. detail(progressing)}
end
return {status = "Healthy", message = "Available"}

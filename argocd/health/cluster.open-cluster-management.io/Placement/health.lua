-- Placement: Degraded only when its spec is wrong or names cluster sets that are not bound to the namespace. No cluster, or fewer
-- than asked for, is Healthy with a message: which clusters exist is not in git.
-- Conditions: PlacementMisconfigured and PlacementSatisfied; OCM sets no observedGeneration on them, other schedulers may.
local annotations = obj.metadata.annotations or {}
if annotations["cluster.open-cluster-management.io/experimental-scheduling-disable"] == "true" then
  return {status = "Healthy", message = "Scheduling is switched off by annotation; decisions stay as they are"}
end

local conditions = {}
local selected = 0
if obj.status ~= nil then
  for _, condition in ipairs(obj.status.conditions or {}) do
    conditions[condition.type] = condition
  end
  selected = obj.status.numberOfSelectedClusters or 0
end

local generation = obj.metadata.generation
local function current(condition)
  if condition == nil then
    return false
  end
  return generation == nil or condition.observedGeneration == nil or condition.observedGeneration >= generation
end

local misconfigured = conditions["PlacementMisconfigured"]
if current(misconfigured) and misconfigured.status == "True" then
  return {status = "Degraded", message = "Misconfigured, no decisions are made. " .. (misconfigured.message or "no message")}
end

local satisfied = conditions["PlacementSatisfied"]
if not current(satisfied) then
  return {status = "Progressing", message = "Not scheduled yet"}
end

local count = tostring(selected) .. " clusters selected"
if selected == 1 then
  count = "1 cluster selected"
end
if satisfied.status == "True" then
  return {status = "Healthy", message = count}
end

local reason = satisfied.reason or "Unknown"
local detail = reason .. ": " .. (satisfied.message or "no message")
if reason == "NoManagedClusterSetBindings" or reason == "NoIntersection" then
  return {status = "Degraded", message = "No cluster can be selected. " .. detail}
end
if selected == 0 then
  return {status = "Healthy", message = "No cluster selected. " .. detail}
end
return {status = "Healthy", message = count .. ". " .. detail}

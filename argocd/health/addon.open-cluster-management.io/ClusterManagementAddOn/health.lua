-- ClusterManagementAddOn: Progressing while a default configuration does not exist on the hub, otherwise Healthy with how far each
-- Placement's installation is: clusters that lag are a fact of the fleet. With installStrategy Manual there is nothing to report.
-- The list of default configurations is spelt differently in v1alpha1 and v1beta1.
local status = obj.status or {}

for _, reference in ipairs(status.defaultconfigReferences or status.defaultConfigReferences or {}) do
  local desired = reference.desiredConfig
  if desired == nil or desired.specHash == nil or desired.specHash == "" then
    local name = ""
    if desired ~= nil and desired.name ~= nil then
      name = " " .. desired.name
      if desired.namespace ~= nil and desired.namespace ~= "" then
        name = " " .. desired.namespace .. "/" .. desired.name
      end
    end
    return {status = "Progressing", message = "The default configuration " .. (reference.resource or "") .. name .. " does not exist yet"}
  end
end

local facts = {}
for _, progression in ipairs(status.installProgressions or {}) do
  local placement = (progression.namespace or "") .. "/" .. (progression.name or "")
  for _, condition in ipairs(progression.conditions or {}) do
    if condition.type == "Progressing" then
      if condition.reason == "ConfigurationUnsupported" then
        return {status = "Degraded", message = "Placement " .. placement .. ": the configuration is not supported. " .. (condition.message or "no message")}
      end
      table.insert(facts, placement .. " " .. (condition.reason or "") .. ": " .. (condition.message or "no message"))
    end
  end
end

return {status = "Healthy", message = table.concat(facts, "; ")}

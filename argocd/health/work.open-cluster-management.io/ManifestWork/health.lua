-- ManifestWork: Degraded only when the cluster refused what the work asks for. A cluster that is offline, slow or new is
-- Healthy with a message: among hundreds of clusters one always is, and it must not hold up the others.
-- Conditions: Applied and Available, each with observedGeneration, set by the work agent on the cluster.
local conditions = {}
local manifests = {}
if obj.status ~= nil then
  for _, condition in ipairs(obj.status.conditions or {}) do
    conditions[condition.type] = condition
  end
  if obj.status.resourceStatus ~= nil then
    manifests = obj.status.resourceStatus.manifests or {}
  end
end

-- The first manifest whose condition of a type is False, as "Kind namespace/name: message"; nil when there is none.
local function first_failure(type)
  for _, manifest in ipairs(manifests) do
    for _, condition in ipairs(manifest.conditions or {}) do
      if condition.type == type and condition.status == "False" then
        local meta = manifest.resourceMeta or {}
        local name = meta.name or ""
        if meta.namespace ~= nil and meta.namespace ~= "" then
          name = meta.namespace .. "/" .. name
        end
        local kind = meta.kind
        if kind == nil or kind == "" then
          kind = "manifest " .. tostring(meta.ordinal or 0)
        end
        local text = kind
        if name ~= "" then
          text = kind .. " " .. name
        end
        return text .. ": " .. (condition.message or condition.reason or "no message")
      end
    end
  end
  return nil
end

local generation = obj.metadata.generation
local function stale(condition)
  return generation ~= nil and condition.observedGeneration ~= nil and condition.observedGeneration < generation
end

local applied = conditions["Applied"]
if applied == nil then
  return {status = "Healthy", message = "Not reported yet: the cluster is new, or its work agent is offline"}
end
if stale(applied) then
  return {
    status = "Healthy",
    message = "Generation " .. tostring(generation) .. " has not reached the cluster; its work agent last reported generation " .. tostring(applied.observedGeneration)
  }
end
if applied.status ~= "True" then
  local reason = first_failure("Applied") or applied.message or applied.reason or "no message"
  if applied.status == "False" then
    return {status = "Degraded", message = "Not applied. " .. reason}
  end
  return {status = "Healthy", message = "Applied is " .. applied.status .. ". " .. reason}
end

local degraded = conditions["Degraded"]
if degraded ~= nil and degraded.status == "True" and not stale(degraded) then
  return {status = "Healthy", message = "Applied; reported as degraded: " .. (degraded.message or degraded.reason or "no message")}
end

local available = conditions["Available"]
if available == nil or stale(available) then
  return {status = "Healthy", message = "Applied; availability not reported yet"}
end
if available.status ~= "True" then
  local reason = first_failure("Available") or available.message or available.reason or "no message"
  return {status = "Healthy", message = "Applied, but not available. " .. reason}
end

return {status = "Healthy", message = "Applied and available"}

-- AddOnPlacementScore: always Healthy; its scores come from the cluster's agent through the status, never from git.
-- Expiry is reported, not judged: health is computed when the object changes, so a verdict on time would be stale.
local scores = {}
local valid_until = nil
if obj.status ~= nil then
  scores = obj.status.scores or {}
  valid_until = obj.status.validUntil
end

local count = 0
for _ in ipairs(scores) do
  count = count + 1
end
if count == 0 then
  return {status = "Healthy", message = "No scores yet; the cluster's agent writes them"}
end

local message = tostring(count) .. " scores"
if count == 1 then
  message = "1 score"
end
if valid_until ~= nil and valid_until ~= "" then
  return {status = "Healthy", message = message .. ", valid until " .. valid_until}
end
return {status = "Healthy", message = message .. " without an end of validity"}

import TransferAccess
package import TransferIntake

extension Caller {
    /// Two clients: one may replace everything, the other one only what it has stored itself.
    package static let simulated = simulated(guestQuota: nil)

    /// - Parameter guestQuota: bytes that the second one may store; nil for no limit.
    static func simulated(guestQuota: UInt64?) -> [Caller] {
        var guest = AccessOptions()
        guest.rights = .noRemove
        guest.quota = guestQuota
        return [
            Caller(Grant(.token("owner"), name: "owner"), UploadScope(), peer: ""),
            Caller(Grant(.token("guest"), name: "guest", options: guest), UploadScope(), peer: ""),
        ]
    }
}

import TransferAccess
package import TransferIntake

extension Caller {
    /// Two clients: the first may replace everything, the second only files that it has stored itself.
    package static let simulated = simulated(guestQuota: nil)

    /// - Parameter guestQuota: bytes that the second client may store; nil for no limit.
    static func simulated(guestQuota: UInt64?) -> [Caller] {
        [
            Caller(Grant(.token("owner"), name: "owner"), UploadScope(), peer: ""),
            Caller(.guest(quota: guestQuota), UploadScope(), peer: ""),
        ]
    }
}

extension Grant {
    /// - Parameters:
    ///   - quota: bytes that the client may store; nil for no limit.
    ///   - maySend: whether the client may send uploads.
    static func guest(quota: UInt64?, maySend: Bool = true) -> Grant {
        var options = AccessOptions()
        options.rights = maySend ? .noRemove : .readOnly
        options.quota = quota
        return Grant(.token("guest"), name: "guest", options: options)
    }
}

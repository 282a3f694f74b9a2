import TransferAccess
package import TransferIntake

extension Caller {
    /// Two clients: one may replace everything, the other one only what it has stored itself.
    package static let simulated: [Caller] = {
        var guest = AccessOptions()
        guest.rights = .noRemove
        return [
            Caller(Grant(.token("owner"), name: "owner"), UploadScope(), peer: ""),
            Caller(Grant(.token("guest"), name: "guest", options: guest), UploadScope(), peer: ""),
        ]
    }()
}

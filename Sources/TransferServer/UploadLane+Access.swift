import TransferAccess
import TransferProtocol
import TransferStore

/// What the lane's client may do.
extension UploadLane {
    /// Asks again before every batch in which something begins: an access that was taken back ends with the next upload.
    ///
    /// - Returns: why the client may not begin anything any more.
    func recheck() -> Refusal? {
        context.recheck(&client) { context.quotas.quota(for: $0) }
    }

    /// Before anything else is done about an upload: lets it have its place in the server's directory.
    func authorize(_ receiving: Receiving) throws(StoreError) {
        if let refusal = outcome.refusal { throw StoreError(refusal.code, refusal.message) }
        receiving.begin.path = try client.place(receiving.begin.path)
    }
}

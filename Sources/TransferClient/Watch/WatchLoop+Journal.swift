import TransferModel
import TransferSystem

extension WatchLoop {
    /// - Returns: nothing where none is wanted.
    static func journal(
        _ options: WatchOptions, _ directory: String, _ server: ServerAddress
    ) throws(TransferFailure) -> WatchJournal? {
        guard let folder = options.journals else { return nil }
        let words = [directory.absolutePath, server.server, server.folder]
        let path = StateFolder(path: folder).file("watch", words)
        do throws(WatchJournal.Fault) {
            return try WatchJournal(path)
        } catch {
            throw failure(error, path, directory)
        }
    }

    private static func failure(_ fault: WatchJournal.Fault, _ path: String, _ directory: String) -> TransferFailure {
        switch fault {
        case .taken:
            TransferFailure(
                reason: .rejected(.busy),
                message: "Another 'transfer watch' of this user sends '\(directory)' to this server already.")
        case .failed(let error):
            TransferFailure(
                reason: .rejected(.targetFailed),
                message:
                    "Cannot keep in '\(path)' what was acknowledged: \(error). Make room, or see that this user may "
                    + "write there.")
        }
    }
}

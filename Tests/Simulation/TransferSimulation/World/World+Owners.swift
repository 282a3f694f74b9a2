import TransferIntake
import TransferModel
import TransferStore

/// Whose a stored file is, and how much of a client there may be.
extension World {
    /// A client without the right to remove has replaced nothing that another client has stored.
    ///
    /// - Parameter replaced: what had the path before.
    func checkOwner(_ index: Int, _ replaced: [UInt8]?) throws(Promises.Broken) {
        let upload = uploads[index]
        guard !callers[upload.caller].mayReplaceAll, let other = replaced.flatMap(number), other != upload.content,
            !copied.contains(other)
        else { return }
        let senders = Set(uploads.filter { $0.content == other }.map(\.caller))
        guard !senders.isEmpty, !senders.contains(upload.caller) else { return }
        throw Promises.Broken("upload \(index) of a client that may not replace took the place of another's file")
    }

    /// What a client with a quota has stored, and is told to be stored, is no more than it may be. What could not be recorded
    /// counts for no client; and a server that starts finds parts by the pages that they take, and lets them be filled.
    func checkGuest() throws(Promises.Broken) {
        guard let limit = mix.guestQuota, !disk.isDead, busy == nil, !records.hasFailed, !isRecordDue else { return }
        var (stored, rest) = ([String: Int](), 0)
        for index in uploads.indices where uploads[index].caller == 1 {
            if uploads[index].isInParts { rest += Limits.blockSize }
            guard let answer = uploads[index].answer, answer.code == .committed, stands(index, at: answer.path) else {
                continue
            }
            stored[answer.path] = contents[uploads[index].content].count
        }
        let bytes = stored.values.reduce(0, +)
        guard bytes > Int(limit) + rest else { return }
        throw Promises.Broken("a client has stored \(bytes) bytes and may store \(limit)")
    }
}

import TransferAccess
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore

/// Whose a stored file is, how much of a client there may be, and what a client has made its uploads depend on.
extension World {
    /// The client without the right to remove may not send any more, or may again.
    func restrict() {
        guestMaySend.toggle()
        let grant = Grant.guest(quota: mix.guestQuota, maySend: guestMaySend)
        callers[1].renew(grant)
        for session in sessions.compactMap(\.self) + ghosts where session.caller == 1 {
            session.intake.caller.renew(grant)
        }
        done.insert(.restrict)
    }

    /// An upload that depends on what has its path has replaced that, and nothing else. Of several attempts in one batch nobody knows
    /// which one was published.
    func check(_ attempts: [Attempt], replace replaced: Medium.Object?) throws(Promises.Broken) {
        let found = replaced.map { Demand.object($0) } ?? .nothing
        guard attempts.allSatisfy({ $0.demanded.map { $0 != found } ?? false }) else { return }
        throw Promises.Broken("upload \(attempts[0].upload) took the place of something else than it has demanded")
    }

    /// A command of this client has stored a file so that it does not replace it.
    func remember(fileOf session: Session, _ object: Medium.Object?) {
        guard let object else { return }
        commandFiles[object] = CommandFile(
            caller: session.caller, server: servers, modified: disk.medium.files[object]?.modified)
    }

    /// What gives way to a change of this step was not stored by the same command, or has another name outside the trash.
    func checkCommand(_ naming: SimulatedDisk.Naming) throws(Promises.Broken) {
        guard let changer, let object = naming.replacedObject, let new = naming.object, new != object,
            !naming.moves.isEmpty || disk.medium.seen(of: new) == nil
        else { return }
        let present = CommandFile(
            caller: changer.caller, server: servers, modified: disk.medium.files[object]?.modified)
        guard commandFiles[object] == present, !disk.medium.seenPaths.values.contains(object) else { return }
        throw Promises.Broken("a command has replaced \(naming.path), which it has stored itself")
    }

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

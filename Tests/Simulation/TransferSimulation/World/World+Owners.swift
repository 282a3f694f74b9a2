import TransferAccess
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore

/// Owners of stored files, quotas of clients, and conditions that clients set for their uploads.
extension World {
    /// Takes the right to send from the client without the right to remove, or gives it back.
    func restrict() {
        guestMaySend.toggle()
        let grant = Grant.guest(quota: mix.guestQuota, maySend: guestMaySend)
        callers[1].renew(grant)
        for session in sessions.compactMap(\.self) + ghosts where session.caller == 1 {
            session.intake.caller.renew(grant)
        }
        done.insert(.restrict)
    }

    /// Checks that an upload with a condition has replaced the object that its sender demanded, and no other. If a
    /// batch has several attempts, the world does not know which one was published.
    func check(_ attempts: [Attempt], replace replaced: Medium.Object?) throws(Promises.Broken) {
        let found = replaced.map { Demand.object($0) } ?? .nothing
        guard attempts.allSatisfy({ $0.demanded.map { $0 != found } ?? false }) else { return }
        throw Promises.Broken("upload \(attempts[0].upload) took the place of something else than it has demanded")
    }

    /// Records that a command of this client has stored a file, which the command must not replace.
    func remember(fileOf session: Session, _ object: Medium.Object?) {
        guard let object else { return }
        commandFiles[object] = CommandFile(
            caller: session.caller, server: servers, modified: disk.medium.files[object]?.modified)
    }

    /// Checks that an object that gives way to a change of this step was not stored by the same command, or has another
    /// name outside the trash.
    func checkCommand(_ naming: SimulatedDisk.Naming) throws(Promises.Broken) {
        guard let changer, let object = naming.replacedObject, let new = naming.object, new != object,
            !naming.moves.isEmpty || disk.medium.seen(of: new) == nil
        else { return }
        let present = CommandFile(
            caller: changer.caller, server: servers, modified: disk.medium.files[object]?.modified)
        guard commandFiles[object] == present, !disk.medium.seenPaths.values.contains(object) else { return }
        throw Promises.Broken("a command has replaced \(naming.path), which it has stored itself")
    }

    /// Checks that a client without the right to remove has replaced no file that another client has stored.
    ///
    /// - Parameter replaced: content that the path had before.
    func checkOwner(_ index: Int, _ replaced: [UInt8]?) throws(Promises.Broken) {
        let upload = uploads[index]
        guard !callers[upload.caller].mayReplaceAll, let other = replaced.flatMap(number), other != upload.content,
            !copied.contains(other)
        else { return }
        let senders = Set(uploads.filter { $0.content == other }.map(\.caller))
        guard !senders.isEmpty, !senders.contains(upload.caller) else { return }
        throw Promises.Broken("upload \(index) of a client that may not replace took the place of another's file")
    }

    /// Checks that a client with a quota has no more acknowledged bytes than the quota allows. Uploads that could not
    /// be recorded count for no client. A starting server counts parts by their pages, and lets clients fill them.
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

import Synchronization
package import TransferAccess
import TransferCatalog
import TransferCodec
package import TransferModel
package import TransferReceipts
package import TransferStore

/// One caller's way into the intake, for as long as its connection lasts: takes its calls one after the other.
///
/// Used by one thread at a time.
package final class IntakeSession {
    /// What is needed of whoever has the connection.
    package struct Connection {
        /// Its number; they grow.
        package let number: Int

        /// Runs something for the caller, some time soon, on a thread that may wait for the disk.
        package let later: (@escaping @Sendable () -> Void) -> Void

        package init(number: Int, later: @escaping (@escaping @Sendable () -> Void) -> Void) {
            (self.number, self.later) = (number, later)
        }
    }

    /// An upload that has begun, or was over before.
    package struct Begun {
        package let upload: OpenUpload

        /// Nothing while its content is wanted.
        package let outcome: UploadOutcome?
    }

    /// What there is of an upload.
    package enum Presence {
        /// It is over.
        case ended(OpenUpload, UploadOutcome)
        /// Somebody has to look.
        case query(PresenceQuery)
    }

    /// Uploads in parts that one connection may have under way: each holds a descriptor and a file.
    private static let mostMultiparts = 64

    package let intake: Intake

    /// Whose uploads these are; renewed whenever its rights are looked at again.
    package var caller: Caller

    /// Whose account places are counted for.
    package var accountHolder = AccountHolder.thisMachine

    /// The push that the connection is part of, as its client named it.
    package var run: UInt64?

    /// Where what uploads replace goes; nil where that is gone for good.
    package var trash: TrashPart? {
        get { pipeline.trash }
        set { pipeline.trash = newValue }
    }

    /// Tells whether anybody still waits for what is verified.
    package var sender: Sender?

    /// Why the caller may begin nothing any more.
    package var refusal: Refusal?

    /// The way of what is all there to its acknowledgement.
    package let pipeline: CommitPipeline

    private let connection: Connection
    /// The upload whose content is coming, if any: all of them share the digesters.
    private var current: OpenUpload?
    var receipts: RepeatedReceipts
    private var digesters: [DigestFunction: ContentDigester] = [:]
    /// Of the uploads that parts of came here.
    private var multiparts: [UploadID: MultipartUpload] = [:]
    /// That the upload at hand appends to.
    private var appending: MultipartUpload?

    package init(_ intake: Intake, _ connection: Connection, caller: Caller) {
        (self.intake, self.connection, self.caller) = (intake, connection, caller)
        pipeline = CommitPipeline(intake)
        receipts = RepeatedReceipts(intake.known)
    }

    /// The caller wants a receipt with every acknowledgement.
    ///
    /// - Parameter areWanted: false where it wants none any more.
    package func giveReceipts(_ areWanted: Bool = true) {
        pipeline.issuer = areWanted ? intake.issuer : nil
        receipts.issuer = pipeline.issuer
    }

    /// The caller has gone. What is published is recorded, though nobody hears of it; what it has begun and not finished stays
    /// for whoever goes on with it.
    package func leave() {
        current?.suspend()
        current = nil
        leaveAppend()
        _ = pipeline.acknowledge(to: caller)
        pipeline.giveUp()
        let now = intake.clock.monotonic()
        for multipart in multiparts.values { intake.multiparts.leave(multipart, now: now) }
        multiparts = [:]
    }
}

// MARK: One upload

extension IntakeSession {
    /// Begins an upload, a part of one, or its end.
    ///
    /// - Parameters:
    ///   - intent: with the server's ids, and the path as the caller knows it.
    ///   - mayEnd: whether its sender waits for an answer before the content, which need not come then.
    package func begin(_ intent: UploadIntent, mayEnd: Bool) -> Begun {
        let upload = open(intent)
        do throws(Failure) {
            try authorize(upload)
            try refuseIfStopping(upload.intent)
            let path = try upload.checkDeclaration()
            upload.multipart = try multipart(upload.intent)
            let outcome = try upload.admit(path, mayEnd: mayEnd)
            if outcome == nil { try upload.openEnd() } else { leaveAppend() }
            if let outcome {
                removeParts(of: upload, outcome)
                leaveEmpty(upload)
            }
            return Begun(upload: upload, outcome: outcome.map(withReceipt))
        } catch {
            defer { leaveEmpty(upload) }
            return Begun(upload: upload, outcome: refuse(upload, error))
        }
    }

    /// Gives an upload up.
    package func refuse(_ upload: OpenUpload, _ error: Failure) -> UploadOutcome {
        upload.discard()
        leaveAppend()
        return .refused(error, size: upload.size)
    }

    /// All of its content has come.
    ///
    /// - Returns: nothing for an upload that is to be published.
    /// - Throws: why it is to be refused.
    package func finish(_ upload: OpenUpload, _ end: DeclaredEnd) throws(Failure) -> UploadOutcome? {
        current = nil
        defer { leaveAppend() }
        switch try upload.finish(end) {
        case .ended(let outcome):
            removeParts(of: upload, outcome)
            return withReceipt(outcome)
        case .publish(var publication):
            publication.sender = sender
            pipeline.add(VerifiedUpload(upload: upload, publication: publication))
            return nil
        }
    }

    /// Its sender doesn't want it any more. What has arrived of one in parts goes, too.
    package func discard(_ upload: OpenUpload) -> UploadOutcome {
        var error = Failure(.aborted, "The client took the upload back.")
        if upload.intent.extent == .multipart {
            do throws(Failure) {
                try throwAway(upload.intent)
            } catch let failure {
                error = failure
            }
        }
        return refuse(upload, error)
    }

    /// One that was under way and has no end is lost.
    private func open(_ intent: UploadIntent) -> OpenUpload {
        current?.suspend()
        leaveAppend()
        let upload = OpenUpload(
            intent, in: intake, for: caller, connection: connection.number, run: run,
            digester: digester(intent.function))
        current = upload
        return upload
    }

    private func authorize(_ upload: OpenUpload) throws(Failure) {
        if let refusal { throw Failure(refusal.code, refusal.message) }
        try upload.authorize()
    }

    /// Of uploads in parts an intake that has to end takes what belongs to one that it works on.
    private func refuseIfStopping(_ intent: UploadIntent) throws(Failure) {
        guard intake.isStopping.load(ordering: .relaxed) else { return }
        let upload: UploadID
        switch intent.extent {
        // The front end has refused those that came too late.
        case .whole, .append: return
        case .part(let part): upload = part.upload
        case .multipart: upload = intent.id
        }
        if intake.multiparts[upload] == nil { throw .serverStopping }
    }

    private func withReceipt(_ outcome: UploadOutcome) -> UploadOutcome {
        guard case .acknowledged(let acknowledgement) = outcome else { return outcome }
        return .acknowledged(receipts.added(to: acknowledgement, of: caller, run: run))
    }

    private func digester(_ function: DigestFunction) -> ContentDigester {
        let digester = digesters[function] ?? ContentDigester(function)
        digesters[function] = digester
        digester.reset()
        return digester
    }
}

// MARK: Questions

extension IntakeSession {
    /// What was acknowledged before, for a caller that asks before it sends.
    ///
    /// - Parameter ids: the server's.
    /// - Returns: for each what still holds; nothing where the content has to be sent. In a copy of the directory files are read, and
    ///   perhaps only the first of them are answered, at least one.
    package func lookup(_ ids: [UploadID], _ function: DigestFunction) -> [Acknowledgement?] {
        guard refusal == nil else { return ids.map { _ in nil } }
        let stored = intake.stillStored(ids, function, for: caller, hasRotten: intake.known.hasRotten)
        var found = stored.map { found in
            found.map { Acknowledgement(again: $0, run: run, kind: $0.entry.kind) }
        }
        receipts.add(to: &found, of: caller)
        return found
    }

    /// What there is of an upload already, for a caller that goes on with it. All older connections lose it.
    ///
    /// - Parameter intent: as that of its end.
    package func have(_ intent: UploadIntent) -> Presence {
        let upload = open(intent)
        do throws(Failure) {
            try authorize(upload)
            let path = try upload.checkDeclaration()
            if let outcome = try upload.admit(path, mayEnd: true) { return .ended(upload, withReceipt(outcome)) }
            let isKnown = hasEntered(intent.id)
            return .query(PresenceQuery(upload, try look(upload.intent), isFirst: !isKnown))
        } catch {
            return .ended(upload, .refused(error, size: 0))
        }
    }

    private func look(_ intent: UploadIntent) throws(Failure) -> PresenceQuery.Source {
        let multipart = try enter(intent.id, total: intent.size, intent)
        let presence = try multipart.takeOver(connection: connection.number, run: run) {
            [intake, caller] () throws(Failure) in
            try intake.store.resume(
                id: intent.id, size: intent.size, filled: intent.filled, quota: intake.quotas.quota(for: caller.grant))
        }
        switch presence {
        case .known(let parts): return .memory(parts)
        case .unread(let staged, let total): return .content(try staged.survey(of: total, intent.function), multipart)
        }
    }
}

// MARK: Uploads in parts

extension IntakeSession {
    /// Whether an upload that parts of came here, or over another connection of its push, is neither complete nor given
    /// up: the next part may be on its way. Not to be asked while a thread is in the session.
    package var hasUnfinished: Bool {
        if multiparts.values.contains(where: { !$0.isFinished }) { return true }
        return run.map { intake.multiparts.areUnfinished(of: $0) } ?? false
    }

    /// What a part belongs to, or a multipart upload's end is about; nothing for whole uploads and ids that aren't known.
    private func multipart(_ intent: UploadIntent) throws(Failure) -> MultipartUpload? {
        switch intent.extent {
        case .whole: return nil
        case .multipart: return intake.multiparts[intent.id]
        case .part(let part): return try enter(part.upload, total: part.total, intent)
        case .append(let append):
            if append.isNew { try intake.makePlace(for: caller) }
            let multipart = try intake.multiparts.enter(
                intent.id, total: nil, AppendMark.function, accountHolder: accountHolder,
                now: intake.clock.monotonic())
            appending = multipart
            if append.isNew { noteUnfinished(intent.id, total: append.total, intent) }
            return multipart
        }
    }

    /// What a part was refused of before anything of it came is not the connection's: those that it may have are few.
    private func leaveEmpty(_ upload: OpenUpload) {
        guard case .part(let part) = upload.intent.extent, let multipart = multiparts[part.upload], multipart.isEmpty
        else {
            return
        }
        multiparts[part.upload] = nil
        intake.multiparts.leave(multipart, now: intake.clock.monotonic())
    }

    /// Unlike those in parts, it is the connection's no longer than a request lasts: the next one may come over another.
    private func leaveAppend() {
        guard let multipart = appending else { return }
        appending = nil
        intake.multiparts.leave(multipart, now: intake.clock.monotonic())
    }

    /// Whether the connection has worked on the upload, and it goes on.
    private func hasEntered(_ id: UploadID) -> Bool { multiparts[id].map { !$0.isFinished } ?? false }

    /// - Parameters:
    ///   - intent: of a part, or a question about the whole.
    ///   - isBegun: whether the upload is begun with it.
    private func enter(
        _ id: UploadID, total: UInt64?, _ intent: UploadIntent, isBegun: Bool = true
    ) throws(Failure) -> MultipartUpload {
        let function = intent.function
        if let known = multiparts[id], !known.isFinished {
            try known.check(total: total, function)
            if isBegun { noteUnfinished(id, total: total, intent) }
            return known
        }
        multiparts = multiparts.filter { !$0.value.isFinished }
        guard multiparts.count < Self.mostMultiparts else {
            throw Failure(.busy, "Too many uploads in parts are unfinished on this connection.")
        }
        if isBegun, intake.multiparts[id] == nil, intake.known.unfinished(id) == nil {
            try intake.makePlace(for: caller)
        }
        let multipart = try intake.multiparts.enter(
            id, total: total, function, accountHolder: accountHolder, now: intake.clock.monotonic())
        multiparts[id] = multipart
        if isBegun { noteUnfinished(id, total: total, intent) }
        return multipart
    }

    /// Lets the catalog say that the upload is unfinished, and what is declared of it now. Nobody waits for that.
    private func noteUnfinished(_ id: UploadID, total: UInt64?, _ intent: UploadIntent) {
        let upload = UnfinishedUpload(
            id: id, path: intent.path, size: total, kind: intent.kind, function: intent.function,
            conflict: intent.conflict, modified: intent.modified, permissions: intent.permissions,
            sender: caller.sender, client: caller.id, begun: intake.clock.utc(), run: run)
        guard intake.known.begin(upload) else { return }
        connection.later { [known = intake.known] in known.recordUnfinished() }
    }

    /// Whoever did not ask before may have sent parts of what is there already. They would only take room.
    private func removeParts(of upload: OpenUpload, _ outcome: UploadOutcome) {
        guard upload.intent.extent == .multipart, upload.multipart != nil, outcome.code.isSuccess else { return }
        do throws(Failure) {
            try throwAway(upload.intent)
        } catch {
            // Somebody else works on it, or the disk fails: it goes when it is too old.
        }
    }

    private func throwAway(_ intent: UploadIntent) throws(Failure) {
        let multipart = try enter(intent.id, total: nil, intent, isBegun: false)
        // Its file has no name any more, or nobody can say so.
        defer { if multipart.isFinished { intake.multiparts.remove(multipart) } }
        try multipart.takeBack(connection: connection.number, run: run) { [intake] () throws(Failure) in
            try intake.store.removePart(intent.id)
        }
    }
}

// MARK: The end

extension IntakeSession {
    /// Whether so much is sealed that it is to be published.
    package var hasMuchVerified: Bool { pipeline.verifiedCount >= intake.filesAtOnce || pipeline.hasLongNames }

    /// Publishes what is verified: one sync pass for all of it.
    package func publish() -> CommitPipeline.Publishing {
        pipeline.publish(for: caller, run: run, receipts: &receipts) { [self] (upload) throws(Failure) in
            try reauthorize(upload)
        }
    }

    /// Whether the client may still store an upload where it has begun it: its access may have been taken back, have expired or have
    /// got other bounds since.
    ///
    /// - Throws: why it may not.
    package func reauthorize(_ upload: OpenUpload) throws(Failure) {
        if let refusal { throw Failure(refusal.code, refusal.message) }
        try upload.reauthorize(for: caller)
    }

    /// Signs for what is published, records it and acknowledges it.
    package func acknowledge() -> CommitPipeline.Ended { pipeline.acknowledge(to: caller) }
}

extension Failure {
    package static let serverStopping = Failure(.shuttingDown, "The server is stopping.")
}

extension IntakeSession {
    /// The receipt of an upload that is stored still, for whoever has sent it or may see it: the one that its acknowledgement
    /// came with where that can be made again, and otherwise one of now.
    ///
    /// - Parameter id: the server's.
    /// - Returns: nothing for an upload that the caller may know nothing of, that is not what it was, or that no receipt can
    ///   promise.
    package func receipt(of id: UploadID) -> SignedReceipt? {
        guard refusal == nil, let issuer = intake.issuer,
            let function = intake.known.entry(for: id)?.digest?.algorithm.function,
            let found = intake.stillStored(id, function, for: caller, hasRotten: intake.known.hasRotten),
            caller.mayKnow(found.entry)
        else { return nil }
        let acknowledgement = Acknowledgement(again: found, run: found.entry.run, kind: found.entry.kind)
        let receipt = receipts.made(for: acknowledgement, of: found.entry, by: issuer, for: caller)
        return receipt.flatMap { try? SignedReceipt(decoding: $0) }
    }
}

extension Caller {
    /// Whether it may know that somebody has sent this; its path is another question.
    fileprivate func mayKnow(_ entry: CatalogEntry) -> Bool {
        grant.options.rights.mayRead || id != nil && entry.client == id
    }
}

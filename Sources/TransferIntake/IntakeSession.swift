import Synchronization
package import TransferAccess
import TransferCodec
package import TransferModel
package import TransferReceipts
package import TransferPorts

/// One connection's access to the intake, for as long as the connection lasts.
///
/// The front end has one for each connection. It begins an upload, writes its content, and finishes it or gives it up;
/// verified uploads are published and acknowledged together.
///
///     begin ─► OpenUpload.write* ─► finish ─► publish ─► acknowledge
///       │               └─► refuse, abort         └─► an outcome, if another connection was faster
///       └─► an outcome                                                       leave: the connection is lost
///
/// Used by one thread at a time.
package final class IntakeSession {
    /// The parts of the connection that the session needs.
    package struct Connection {
        /// The number of the connection. Newer connections have greater numbers.
        package let number: Int

        /// Runs a closure soon, on a thread that may wait for the disk.
        package let later: (@escaping @Sendable () -> Void) -> Void

        package init(number: Int, later: @escaping (@escaping @Sendable () -> Void) -> Void) {
            (self.number, self.later) = (number, later)
        }
    }

    /// The result of `begin`: an upload that takes content, or one that was over before.
    package struct Begun {
        package let upload: OpenUpload

        /// The outcome of an upload that is over; nil if its content is wanted.
        package let outcome: UploadOutcome?
    }

    /// The answer to the question what the server has of an upload.
    package enum Presence {
        /// The upload has its outcome already.
        case ended(EndedUpload)
        /// The query that finds the blocks, for which the store may have to be read.
        case query(PresenceQuery)
    }

    package let intake: Intake

    /// The client whose uploads these are; renewed whenever its rights are looked up again.
    package var caller: Caller

    /// The party whose account the places of unfinished uploads are counted for.
    package var accountHolder = AccountHolder.thisMachine

    /// The push that the connection belongs to, as its client named it; nil if it named none.
    package var run: UInt64?

    /// Where replaced files go; nil if they are removed for good.
    package var trash: OpenTrashBatch? {
        get { pipeline.trash }
        set { pipeline.trash = newValue }
    }

    /// The connection in the form that publications receive, which says whether the client still waits.
    package var sender: Sender?

    /// Why the client may begin nothing more; nil while it may.
    package var refusal: Refusal?

    /// Publishes and acknowledges what is verified.
    package let pipeline: CommitPipeline

    /// The upload whose content is arriving; nil for none. Also nil for an upload that has its outcome already, whose
    /// further content is ignored.
    package private(set) var current: OpenUpload?

    private let connection: Connection
    private var multiparts: SessionMultiparts
    var receipts: RepeatedReceipts
    /// Shared by all uploads, because only one of them receives content at a time.
    private var digester: ContentDigester?

    package init(_ intake: Intake, _ connection: Connection, caller: Caller) {
        (self.intake, self.connection, self.caller) = (intake, connection, caller)
        pipeline = CommitPipeline(intake)
        receipts = RepeatedReceipts(intake.known)
        multiparts = SessionMultiparts(intake, connection)
    }

    /// Switches receipts on or off.
    ///
    /// - Parameter areWanted: whether the client wants a receipt with every acknowledgement.
    package func giveReceipts(_ areWanted: Bool = true) {
        pipeline.issuer = areWanted ? intake.issuer : nil
        receipts.issuer = pipeline.issuer
    }

    /// Ends the session of a lost connection. What is published is recorded, although no client receives the result.
    /// Unfinished uploads stay for a connection that resumes them.
    package func leave() {
        loseCurrent()
        _ = pipeline.acknowledge(to: caller)
        pipeline.giveUp()
        multiparts.leaveAll()
    }

    /// Whether a multipart upload with parts from this connection, or from another one in the same push, is neither
    /// complete nor given up: the next part may be on the way. Must not be called while a thread uses the session.
    package var hasUnfinished: Bool {
        multiparts.hasUnfinished || run.map { intake.multiparts.areUnfinished(of: $0) } ?? false
    }
}

// MARK: One upload

extension IntakeSession {
    /// Begins a whole upload, a part, an append request, or the end of a multipart upload. An upload of this session
    /// that is under way is suspended.
    ///
    /// - Parameters:
    ///   - intent: has the server's ids, and the path as the client knows it.
    ///   - mayEnd: whether the client waits for an answer before it sends the content, so that the upload may end here.
    package func begin(_ intent: UploadIntent, mayEnd: Bool) -> Begun {
        loseCurrent()
        var admission = UploadAdmission(intent, in: intake, for: caller, run: run)
        var multipart: MultipartUpload?
        do throws(Failure) {
            // Authorize the upload, and map its path to the server's directory.
            try admission.authorize(unless: refusal)
            try refuseIfStopping(intent)
            // Check the declaration before anything is remembered of the upload.
            try admission.checkDeclaration()
            // Find the multipart or append upload that this belongs to.
            multipart = try multiparts.multipart(of: admission, for: accountHolder)
            // Admit the upload: it can be over already, or be sure to fail.
            let upload: OpenUpload
            switch try admission.admit(mayEnd: mayEnd) {
            case .over(let outcome):
                let answered = OpenUpload(admission, of: multipart)
                multiparts.leaveAppend()
                removeParts(of: answered, outcome)
                multiparts.leaveEmpty(intent)
                return Begun(upload: answered, outcome: withReceipt(outcome))
            case .repeated:
                upload = RepeatedUpload(admission, of: multipart, digester(intent.function))
            // Make the place for the content, if it is needed before the content arrives.
            case .wanted(let makesPlace):
                upload = try open(admission, of: multipart, makesPlace: makesPlace)
            }
            // The content is wanted.
            current = upload
            return Begun(upload: upload, outcome: nil)
        } catch {
            multiparts.leaveAppend()
            multiparts.leaveEmpty(intent)
            return Begun(upload: OpenUpload(admission, of: multipart), outcome: .refused(error, size: 0))
        }
    }

    /// Makes the upload that takes the content, and a place for it if `makesPlace` is true. An append request always
    /// claims the end of the upload.
    private func open(
        _ admission: UploadAdmission, of multipart: MultipartUpload?, makesPlace: Bool
    ) throws(Failure) -> OpenUpload {
        switch (admission.intent.extent, multipart) {
        case (.whole, _):
            let upload = WholeUpload(admission, digester(admission.intent.function))
            if makesPlace { try upload.makePlace() }
            return upload
        case (.part(let part), let multipart?):
            let upload = PartUpload(
                admission, part, of: multipart, connection: connection.number, digester(admission.intent.function))
            if makesPlace { try upload.claimRange() }
            return upload
        case (.append(let append), let multipart?):
            return try AppendRequest.begin(admission, append, to: multipart)
        case (.multipart, let multipart):
            return MultipartEnd(admission, of: multipart)
        case (.part, nil), (.append, nil):
            throw .notAdmitted
        }
    }

    /// Gives up an upload and discards what it has received.
    package func refuse(_ upload: OpenUpload, _ error: Failure) -> UploadOutcome {
        if upload === current { current = nil }
        upload.discard()
        multiparts.leaveAppend()
        return .refused(error, size: upload.size)
    }

    /// Ends the content of an upload.
    ///
    /// - Returns: nil for an upload that will be published; otherwise its outcome.
    /// - Throws: why the upload has to be refused.
    package func finish(_ upload: OpenUpload, _ end: DeclaredEnd) throws(Failure) -> UploadOutcome? {
        current = nil
        defer { multiparts.leaveAppend() }
        switch try upload.finish(end) {
        case .over(let outcome):
            removeParts(of: upload, outcome)
            return withReceipt(outcome)
        case .verified(var verified):
            verified.publication.sender = sender
            pipeline.add(verified)
            return nil
        }
    }

    /// Ends an upload that its client has taken back. The parts of a multipart upload are removed as well.
    package func abort(_ upload: OpenUpload) -> UploadOutcome {
        var error = Failure(.aborted, "The client cancelled the upload.")
        if upload.intent.extent == .multipart {
            do throws(Failure) {
                try throwAway(upload)
            } catch let failure {
                error = failure
            }
        }
        return refuse(upload, error)
    }

    private func loseCurrent() {
        current?.suspend()
        current = nil
        multiparts.leaveAppend()
    }

    /// Refuses multipart uploads on a stopping server, unless they are under way.
    private func refuseIfStopping(_ intent: UploadIntent) throws(Failure) {
        guard intake.isStopping.load(ordering: .relaxed) else { return }
        switch intent.extent {
        // The front end has already refused whole uploads and append requests that began too late.
        case .whole, .append: return
        case .part, .multipart: if intake.multiparts[intent.wholeID] == nil { throw .serverStopping }
        }
    }

    /// Removes the parts of an upload that was over already. A client that did not ask first may have sent them; they
    /// would only take room.
    private func removeParts(of upload: OpenUpload, _ outcome: UploadOutcome) {
        guard upload.intent.extent == .multipart, outcome.code.isSuccess else { return }
        intake.store.parts?.forgetPublished(upload.intent.id)
        guard upload.multipart != nil else { return }
        do throws(Failure) {
            try throwAway(upload)
        } catch {
            // Another connection works on the upload, or the disk fails. The parts are removed when they are too old.
        }
    }

    private func throwAway(_ upload: OpenUpload) throws(Failure) {
        let id = upload.intent.id
        let multipart = try multiparts.enter(id, total: nil, upload.admission, for: accountHolder, isBegun: false)
        // If the upload is finished now, its file was removed, or it is unknown whether it was.
        defer { if multipart.isFinished { intake.multiparts.remove(multipart) } }
        try multipart.takeBack(connection: connection.number, run: run) { [intake] () throws(Failure) in
            try intake.partStore().removePart(id)
        }
    }

    private func withReceipt(_ outcome: UploadOutcome) -> UploadOutcome {
        guard case .acknowledged(let acknowledgement) = outcome else { return outcome }
        return .acknowledged(receipts.added(to: acknowledgement, of: caller, run: run))
    }

    /// The session's digester, reset for a new upload.
    private func digester(_ function: DigestFunction) -> ContentDigester {
        guard let digester else {
            let made = ContentDigester(function)
            digester = made
            return made
        }
        digester.reset(to: function)
        return digester
    }
}

// MARK: Questions of the client

extension IntakeSession {
    /// Looks up acknowledged uploads for a client that asks before it sends.
    ///
    /// - Parameters:
    ///   - ids: the server's ids.
    ///   - function: of the acknowledged digest, which the client compares with its own; nil for any.
    ///   - room: bytes of paths in the answer after which no more ids are looked up, because paths can be long.
    /// - Returns: for each id its acknowledgement if that still holds, or nil if the content has to be sent. The result
    ///   can cover only the first ids, but at least one: as many as `room` allows, or a few in a copied directory,
    ///   where files have to be read.
    package func lookup(_ ids: [UploadID], _ function: DigestFunction?, room: Int = .max) -> [Acknowledgement?] {
        guard refusal == nil else { return ids.map { _ in nil } }
        let hasRotten = intake.known.hasRotten
        var found: [Acknowledgement?] = []
        var bytes = 0
        repeat {
            let some = Array(ids[found.count...].prefix(Self.lookedUpAtOnce))
            for stored in intake.stillStored(some, function, for: caller, hasRotten: hasRotten) {
                bytes += stored?.entry.path.utf8.count ?? 0
                found.append(stored.map { Acknowledgement(again: $0, run: run, kind: $0.entry.kind) })
            }
        } while found.count < ids.count && bytes < room && !intake.adoption.isOpen
        receipts.add(to: &found, of: caller)
        return found
    }

    /// Ids that are looked up before the room is checked again: one query to the catalog, and at most 128 KiB of paths.
    package static let lookedUpAtOnce = 32

    /// Says what the server has of an upload, for a client that resumes it. All older connections lose the upload.
    ///
    /// - Parameter intent: the same as for the end of the upload.
    package func have(_ intent: UploadIntent) -> Presence {
        loseCurrent()
        var admission = UploadAdmission(intent, in: intake, for: caller, run: run)
        do throws(Failure) {
            try admission.authorize(unless: refusal)
            try admission.checkDeclaration()
            if case .over(let outcome) = try admission.admit(mayEnd: true) {
                if outcome.code.isSuccess { intake.store.parts?.forgetPublished(intent.id) }
                return .ended(EndedUpload(OpenUpload(admission), withReceipt(outcome)))
            }
            let isKnown = multiparts.contains(intent.id)
            return .query(PresenceQuery(OpenUpload(admission), try look(admission), isFirst: !isKnown))
        } catch {
            return .ended(EndedUpload(OpenUpload(admission), .refused(error, size: 0)))
        }
    }

    private func look(_ admission: UploadAdmission) throws(Failure) -> PresenceQuery.Source {
        let intent = admission.intent
        let multipart = try multiparts.enter(intent.id, total: intent.size, admission, for: accountHolder)
        let presence = try multipart.takeOver(connection: connection.number, run: run) {
            [intake] () throws(Failure) in
            try intake.partStore().resume(
                id: intent.id, size: intent.size, filled: intent.filled, quota: admission.quota)
        }
        switch presence {
        case .known(let parts): return .memory(parts)
        case .unread(let staged, let total):
            return .content(try staged.survey(of: total, intent.function), multipart, returned: [])
        }
    }
}

// MARK: Publishing and acknowledging

extension IntakeSession {
    /// Whether so many uploads are verified that they should be published now.
    package var hasMuchVerified: Bool { pipeline.verifiedCount >= intake.filesAtOnce || pipeline.hasLongNames }

    /// Publishes the verified uploads with one pass of syncs.
    package func publish() -> CommitPipeline.Publishing {
        pipeline.publish(for: caller, unless: refusal, run: run, receipts: &receipts)
    }

    /// Checks whether the client may still store an upload at its path: since the upload began, its access may have
    /// been revoked, changed, or have expired.
    ///
    /// - Throws: why the client may not store it.
    package func reauthorize(_ upload: OpenUpload) throws(Failure) {
        try upload.admission.reauthorize(for: caller, unless: refusal, size: upload.size)
    }

    /// Signs, records and acknowledges the published uploads.
    ///
    /// - Returns: the result of `CommitPipeline.acknowledge`.
    package func acknowledge() -> [CommitPipeline.Ended] {
        let known = intake.known
        if known.claimLoading() { connection.later { known.load() } }
        return pipeline.acknowledge(to: caller)
    }
}

extension Failure {
    package static let serverStopping = Failure(.shuttingDown, "The server is stopping.")
}

extension IntakeSession {
    /// Makes a receipt for a stored upload, for a client that has sent it or may see it: the original receipt if that
    /// can be made again, otherwise a new one.
    ///
    /// - Parameter id: the server's id.
    /// - Returns: nil if the client may not know the upload, if the file has changed, or if no receipt can be given for
    ///   it.
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

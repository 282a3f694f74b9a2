import Synchronization
package import TransferAccess
import TransferCodec
package import TransferModel
package import TransferReceipts
package import TransferPorts

/// One caller's way into the intake, for as long as its connection lasts: takes its calls one after the other.
///
/// A front end has one of each connection. It begins an upload, gives it content, and finishes it or gives it up; what is verified
/// it publishes and acknowledges, many uploads at once.
///
///     begin ─► OpenUpload.write* ─► finish ─► publish ─► acknowledge
///       │               └─► refuse, abort         └─► an outcome, where another connection was faster
///       └─► an outcome                                                       leave: the connection has gone
///
/// Used by one thread at a time.
package final class IntakeSession {
    /// The parts of the connection that the session uses.
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

        /// Nil while its content is wanted.
        package let outcome: UploadOutcome?
    }

    /// What there is of an upload.
    package enum Presence {
        /// It is over.
        case ended(EndedUpload)
        /// What there is has to be told, and perhaps read first.
        case query(PresenceQuery)
    }

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

    /// Tells whether the client still waits for what is verified.
    package var sender: Sender?

    /// Why the caller may begin nothing any more.
    package var refusal: Refusal?

    /// The way of what is all there to its acknowledgement.
    package let pipeline: CommitPipeline

    /// The upload whose content is coming; nil for none, and for an upload that has its outcome, of which the rest is ignored.
    package private(set) var current: OpenUpload?

    private let connection: Connection
    private var multiparts: SessionMultiparts
    var receipts: RepeatedReceipts
    /// All uploads share it, because only one of them has content coming.
    private var digester: ContentDigester?

    package init(_ intake: Intake, _ connection: Connection, caller: Caller) {
        (self.intake, self.connection, self.caller) = (intake, connection, caller)
        pipeline = CommitPipeline(intake)
        receipts = RepeatedReceipts(intake.known)
        multiparts = SessionMultiparts(intake, connection)
    }

    /// The caller wants a receipt with every acknowledgement.
    ///
    /// - Parameter areWanted: false where it wants none any more.
    package func giveReceipts(_ areWanted: Bool = true) {
        pipeline.issuer = areWanted ? intake.issuer : nil
        receipts.issuer = pipeline.issuer
    }

    /// The caller has gone. What is published is recorded, though no client hears of it; what it has begun and not finished stays
    /// for a connection that goes on with it.
    package func leave() {
        loseCurrent()
        _ = pipeline.acknowledge(to: caller)
        pipeline.giveUp()
        multiparts.leaveAll()
    }

    /// Whether a multipart upload, of which parts came over this connection or another one of its push, is neither complete nor given
    /// up: the next part may be on its way. Not to be asked while a thread is in the session.
    package var hasUnfinished: Bool {
        multiparts.hasUnfinished || run.map { intake.multiparts.areUnfinished(of: $0) } ?? false
    }
}

// MARK: One upload

extension IntakeSession {
    /// Begins an upload, a part or a request of one, or its end. An upload that was under way here and has no end is lost.
    ///
    /// - Parameters:
    ///   - intent: with the server's ids, and the path as the caller knows it.
    ///   - mayEnd: whether its sender waits for an answer before the content, which need not come then.
    package func begin(_ intent: UploadIntent, mayEnd: Bool) -> Begun {
        loseCurrent()
        var admission = UploadAdmission(intent, in: intake, for: caller, run: run)
        var multipart: MultipartUpload?
        do throws(Failure) {
            // Authorize: the path becomes the one in the server's directory.
            try admission.authorize(unless: refusal)
            try refuseIfStopping(intent)
            // Check the declaration, before anything is remembered of the upload.
            try admission.checkDeclaration()
            // Find what it is a part or a request of, or ends.
            multipart = try multiparts.multipart(of: admission, for: accountHolder)
            // Admit it: is it over already, or has no chance?
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
            // Make the place for the content, where that is due before it comes.
            case .wanted(let makesPlace):
                upload = try open(admission, of: multipart, makesPlace: makesPlace)
            }
            // Answer that the content is wanted.
            current = upload
            return Begun(upload: upload, outcome: nil)
        } catch {
            multiparts.leaveAppend()
            multiparts.leaveEmpty(intent)
            return Begun(upload: OpenUpload(admission, of: multipart), outcome: .refused(error, size: 0))
        }
    }

    /// Makes the upload that takes the content, and its place if `makesPlace`. An append request always claims the end of its upload.
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

    /// Gives an upload up.
    package func refuse(_ upload: OpenUpload, _ error: Failure) -> UploadOutcome {
        if upload === current { current = nil }
        upload.discard()
        multiparts.leaveAppend()
        return .refused(error, size: upload.size)
    }

    /// All of its content has come.
    ///
    /// - Returns: nil for an upload that is to be published.
    /// - Throws: why it is to be refused.
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

    /// Its sender doesn't want it any more. What has arrived of a multipart upload goes, too.
    package func abort(_ upload: OpenUpload) -> UploadOutcome {
        var error = Failure(.aborted, "The client took the upload back.")
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

    /// Of uploads in parts an intake that has to end takes what belongs to one that it works on.
    private func refuseIfStopping(_ intent: UploadIntent) throws(Failure) {
        guard intake.isStopping.load(ordering: .relaxed) else { return }
        switch intent.extent {
        // The front end has refused those that came too late.
        case .whole, .append: return
        case .part, .multipart: if intake.multiparts[intent.wholeID] == nil { throw .serverStopping }
        }
    }

    /// A client that did not ask before may have sent parts of what is there already. They would only take room.
    private func removeParts(of upload: OpenUpload, _ outcome: UploadOutcome) {
        guard upload.intent.extent == .multipart, upload.multipart != nil, outcome.code.isSuccess else { return }
        do throws(Failure) {
            try throwAway(upload)
        } catch {
            // Another connection works on it, or the disk fails: it goes when it is too old.
        }
    }

    private func throwAway(_ upload: OpenUpload) throws(Failure) {
        let id = upload.intent.id
        let multipart = try multiparts.enter(id, total: nil, upload.admission, for: accountHolder, isBegun: false)
        // The name of its file is removed, or it is unknown whether it is.
        defer { if multipart.isFinished { intake.multiparts.remove(multipart) } }
        try multipart.takeBack(connection: connection.number, run: run) { [intake] () throws(Failure) in
            try intake.partStore().removePart(id)
        }
    }

    private func withReceipt(_ outcome: UploadOutcome) -> UploadOutcome {
        guard case .acknowledged(let acknowledgement) = outcome else { return outcome }
        return .acknowledged(receipts.added(to: acknowledgement, of: caller, run: run))
    }

    /// The digester, reset for an upload.
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

// MARK: Questions

extension IntakeSession {
    /// What was acknowledged before, for a caller that asks before it sends.
    ///
    /// - Parameters:
    ///   - ids: the server's.
    ///   - room: bytes of paths from which on no more IDs are looked up: paths are long.
    /// - Returns: for each what still holds; nil where the content has to be sent. Perhaps only the first IDs are answered, at least one:
    ///   as many as there is room for, and in a copy of the directory, where files are read for them, a few.
    package func lookup(_ ids: [UploadID], _ function: DigestFunction, room: Int = .max) -> [Acknowledgement?] {
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

    /// IDs between two looks at the room that is left: one question to the catalog, and at most 128 KiB of paths.
    package static let lookedUpAtOnce = 32

    /// What there is of an upload already, for a caller that goes on with it. All older connections lose it.
    ///
    /// - Parameter intent: as that of its end.
    package func have(_ intent: UploadIntent) -> Presence {
        loseCurrent()
        var admission = UploadAdmission(intent, in: intake, for: caller, run: run)
        do throws(Failure) {
            try admission.authorize(unless: refusal)
            try admission.checkDeclaration()
            if case .over(let outcome) = try admission.admit(mayEnd: true) {
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
        case .unread(let staged, let total): return .content(try staged.survey(of: total, intent.function), multipart)
        }
    }
}

// MARK: The end

extension IntakeSession {
    /// Whether so much is verified that it is to be published.
    package var hasMuchVerified: Bool { pipeline.verifiedCount >= intake.filesAtOnce || pipeline.hasLongNames }

    /// Publishes what is verified: one sync pass for all of it.
    package func publish() -> CommitPipeline.Publishing {
        pipeline.publish(for: caller, unless: refusal, run: run, receipts: &receipts)
    }

    /// Whether the client may still store an upload where it has begun it: its access may have been taken back, have expired or have
    /// got other bounds since.
    ///
    /// - Throws: why it may not.
    package func reauthorize(_ upload: OpenUpload) throws(Failure) {
        try upload.admission.reauthorize(for: caller, unless: refusal, size: upload.size)
    }

    /// Signs for what is published, records it and acknowledges it.
    ///
    /// - Returns: as `CommitPipeline.acknowledge` does.
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
    /// The receipt of an upload that is stored still, for a client that has sent it or may see it: the one that its acknowledgement
    /// came with where that can be made again, and otherwise one of now.
    ///
    /// - Parameter id: the server's.
    /// - Returns: nil for an upload that the caller may know nothing of, that is not what it was, or that no receipt can
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

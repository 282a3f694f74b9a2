import Testing
import TransferAccess
import TransferDatabase
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferCatalog
@testable import TransferIntake

/// A server knows the uploads that were begun under an earlier server.
@Suite struct DeclaredUploadsTests {
    private static let content = SplitMix64.bytes(seed: 5, 2 * Limits.blockSize + 9)
    private static let hour: Int64 = 3_600_000_000_000

    private let directory: TemporaryDirectory
    private let id = UploadID.random()

    init() throws {
        directory = try TemporaryDirectory(prefersMemory: true)
    }

    /// Runs a server in the directory, which the next run finds as this one leaves it.
    private func serving(
        loads: Bool = true, calls: DatabaseCalls = DatabaseCalls(), clock: IntakeClock = .system,
        _ body: (Intake) throws -> Void
    ) throws {
        let store = try FileStore(path: directory.path("store"))
        let file = CatalogFile(path: directory.path("catalog"), isDurable: false, calls: calls)
        let catalog = Catalog(CatalogConnections(file, retryInterval: 0) { _ in })
        let intake = Intake(
            Intake.Configuration(
                maximumMultiparts: 8, filesAtOnce: 100, maximumUpload: 1 << 40, keepUnfinished: Self.hour),
            store: store, records: catalog, signer: nil, clock: clock
        ) { _ in }
        if loads { intake.known.load() }
        try body(intake)
        intake.known.close()
        store.unlock()
    }

    private func session(_ intake: Intake, number: Int = 1) throws -> IntakeSession {
        let caller = try caller(token: "a", folder: "mine")
        return IntakeSession(intake, .init(number: number) { $0() }, caller: caller)
    }

    private func caller(token: String, folder: String?) throws -> Caller {
        var options = AccessOptions()
        options.folder = try folder.map { try RelativePath($0) }
        return Caller(Grant(.token(token), name: "guest", options: options), UploadScope(), peer: "")
    }

    private var intent: UploadIntent {
        UploadIntent(
            id: id, path: "d/big", size: UInt64(Self.content.count), kind: .picture, function: .sha256,
            conflict: .overwrite, modified: Timestamp(seconds: 7, nanoseconds: 8), permissions: 0o600,
            extent: .multipart)
    }

    /// Sends the first blocks of the content.
    private func sendFront(_ blocks: Int, _ session: IntakeSession, total: UInt64?) throws {
        let size = blocks * Limits.blockSize
        var part = intent
        (part.id, part.size) = (.random(), UInt64(size))
        part.extent = .part(UploadPart(of: id, offset: 0, total: total))
        #expect(session.send(part, Array(Self.content[..<size]), end: DeclaredEnd()).code == .staged)
    }

    /// Sends the content after those blocks, with the size of the whole upload.
    private func sendRest(behind blocks: Int, _ session: IntakeSession) throws {
        let offset = blocks * Limits.blockSize
        let content = Array(Self.content[offset...])
        var rest = intent
        (rest.id, rest.size) = (.random(), UInt64(content.count))
        rest.extent = .part(UploadPart(of: id, offset: UInt64(offset), total: intent.size))
        #expect(session.send(rest, content, end: DeclaredEnd()).code == .staged)
    }

    @Test func allThatWasDeclaredOutlivesTheServer() throws {
        let before = utcNanoseconds()
        var known: UnfinishedUpload?
        try serving { intake in
            let session = try session(intake)
            #expect(intake.known.unfinished(id) == nil)
            try sendFront(1, session, total: intent.size)
            known = intake.known.unfinished(id)
            session.leave()
        }
        let upload = try #require(known)
        #expect((before...utcNanoseconds()).contains(upload.begun))
        let client = try caller(token: "a", folder: nil).id
        #expect(upload.path == "mine/d/big" && upload.client == client)
        #expect(upload.size == intent.size && upload.kind == .picture && upload.function == .sha256)
        #expect(upload.conflict == .overwrite && upload.modified == intent.modified && upload.permissions == 0o600)
        try serving { intake in #expect(intake.known.unfinished(id) == upload) }
    }

    /// The size of a stream is declared with its last part.
    @Test func aSizeThatIsDeclaredLaterIsKnownToLaterServers() throws {
        try serving { intake in
            let session = try session(intake)
            try sendFront(2, session, total: nil)
            #expect(intake.known.unfinished(id) != nil && intake.known.unfinished(id)?.size == nil)
            session.leave()
        }
        try serving { intake in
            let session = try session(intake, number: 2)
            // Parts sent to an earlier server count after this server has read them.
            guard case .query(var query) = session.have(intent) else { return #expect(Bool(false)) }
            while try query.step(threads: 1) != nil {}
            #expect(query.count == 2)
            try sendRest(behind: 2, session)
            #expect(intake.known.unfinished(id)?.size == intent.size)
            #expect(session.send(intent, end: DeclaredEnd()).code == .committed)
            #expect(intake.known.unfinished(id) == nil)
        }
        try serving { intake in #expect(intake.known.unfinished(id) == nil) }
    }

    /// The connection that has begun the upload declares its size later.
    @Test func aSizeThatIsDeclaredLaterOutlivesTheServer() throws {
        try serving { intake in
            let session = try session(intake)
            try sendFront(2, session, total: nil)
            try sendRest(behind: 2, session)
            session.leave()
        }
        try serving { intake in #expect(intake.known.unfinished(id)?.size == intent.size) }
    }

    @Test func whatWasTakenBackOrIsTooOldIsNotKnown() throws {
        try serving { intake in
            let session = try session(intake)
            try sendFront(1, session, total: intent.size)
            session.leave()
            intake.multiparts.letGo(desertedUpTo: .max)
            intake.keepUnfinished = -2_000_000_000
            _ = try intake.expire(leftovers: false)
            #expect(intake.store.parts?.part(id) == nil)
            intake.forgetUnfinished()
        }
        try serving { intake in #expect(intake.known.unfinished(id) == nil) }
    }

    /// An upload without any content at the server is not listed as unfinished: clients could otherwise fill the list
    /// for all clients by beginning and withdrawing uploads.
    @Test func whatNothingIsLeftOfIsNotNoted() throws {
        try serving { intake in
            let session = try session(intake)
            // Withdraw an upload that was not begun.
            _ = session.abort(session.begin(intent, mayEnd: true).upload)
            #expect(intake.known.unfinished(id) == nil)
            // An upload that a client has only asked about is forgotten when its connection ends.
            guard case .query = session.have(intent) else { return #expect(Bool(false)) }
            #expect(intake.known.unfinished(id) != nil)
            session.leave()
            #expect(intake.known.unfinished(id) == nil)
        }
        try serving { intake in
            let session = try session(intake, number: 2)
            try sendFront(1, session, total: intent.size)
            _ = session.abort(session.begin(intent, mayEnd: true).upload)
            #expect(intake.known.unfinished(id) == nil)
            // Refuse an upload at its end.
            try sendFront(1, session, total: UInt64(Limits.blockSize))
            var end = intent
            end.size = UInt64(Limits.blockSize)
            let wrong = DeclaredEnd(digest: Digest(.sha256, [UInt8](repeating: 0, count: 32)))
            #expect(session.send(end, end: wrong).code == .digestMismatch)
            #expect(intake.known.unfinished(id) == nil)
        }
        let catalog = Catalog(path: directory.path("catalog"), isDurable: false) { _ in }
        #expect(try catalog.unfinished().isEmpty)
    }

    /// If the catalog cannot be read, or not completely, when the server starts, the server tries again after an
    /// interval and not at each upload.
    @Test(arguments: [true, false]) func whatCouldNotBeLearntAtTheStartIsLearntLater(failsAtOnce: Bool) throws {
        let stored = UploadID.random()
        try serving { intake in
            try sendFront(1, session(intake), total: nil)
            try bring(stored, to: session(intake, number: 2))
        }
        let steps = Locked(0)
        let failing = Locked(0)
        let now = Locked(Int64(0))
        // SQLITE_IOERR (sqlite.org/rescode.html#ioerr).
        let calls = DatabaseCalls(failure: { call in
            guard call == .step else { return 0 }
            let step = steps.withLock { steps in
                steps += 1
                return steps
            }
            return step == failing.withLock { $0 } ? 10 : 0
        })
        let clock = IntakeClock(monotonic: { now.withLock { $0 } }, utc: utcNanoseconds)
        var needed = 0
        try serving(loads: false, calls: calls) { intake in
            let before = steps.withLock { $0 }
            intake.known.load()
            needed = steps.withLock { $0 } - before
            #expect(intake.known.filter.isLoaded)
        }
        try serving(loads: false, calls: calls, clock: clock) { intake in
            let before = steps.withLock { $0 }
            failing.withLock { $0 = before + (failsAtOnce ? 1 : needed) }
            intake.known.load()
            #expect(!intake.known.filter.isLoaded && (intake.known.unfinished(id) == nil) == failsAtOnce)
            intake.known.index()
            try bring(UploadID.random(), to: session(intake, number: 3))
            #expect(!intake.known.filter.isLoaded)
            now.withLock { $0 += KnownUploads.loadInterval }
            try bring(UploadID.random(), to: session(intake, number: 3))
            #expect(intake.known.filter.isLoaded && intake.known.unfinished(id) != nil)
            #expect(intake.known.filter.mayContain(stored) && !intake.known.filter.mayContain(.random()))
        }
    }

    private func bring(_ id: UploadID, to session: IntakeSession) throws {
        #expect(try session.bring(UploadIntent(id: id, path: "a", size: 1), [1]) == nil)
        #expect(session.outcomes().allSatisfy { $0.code.isSuccess })
    }

    /// A client begins the upload again at the moment when the server finds it gone.
    @Test func whatIsBegunAgainMeanwhileStaysNoted() {
        let uploads = UnfinishedUploads()
        let upload = UnfinishedUpload(id: .random(), path: "a", begun: 1)
        #expect(uploads.begin(upload))
        var looks = 0
        let gone = uploads.remove(nil) { _ in
            looks += 1
            return looks > 1
        }
        #expect(gone.isEmpty && uploads.find(upload.id) == upload)
        #expect(uploads.remove([upload.id]) { _ in false } == [upload.id])
        #expect(uploads.find(upload.id) == nil)
    }

    /// Records that could not be written are written with the next ones.
    @Test func recordsThatFailAreToldAgain() throws {
        let uploads = UnfinishedUploads()
        let (first, second) = (
            UnfinishedUpload(id: .random(), path: "a", begun: 1), UnfinishedUpload(id: .random(), path: "b", begun: 2)
        )
        #expect(uploads.begin(first))
        let taken = uploads.takeWaiting()
        #expect(taken == [first])
        uploads.putBack(taken)
        #expect(!uploads.begin(first))
        #expect(uploads.begin(second))
        #expect(Set(uploads.takeWaiting().map(\.path)) == ["a", "b"])
        #expect(!uploads.begin(second) && uploads.takeWaiting().isEmpty)
    }

    @Test func aDeclarationThatSaysLessTakesNothingBack() {
        let uploads = UnfinishedUploads()
        var upload = UnfinishedUpload(id: .random(), path: "a", sender: "x", client: 1, begun: 1, run: 5)
        #expect(uploads.begin(upload))
        _ = uploads.takeWaiting()
        var sized = upload
        (sized.size, sized.begun, sized.run, sized.sender, sized.client) = (9, 8, 7, "y", 2)
        #expect(uploads.begin(sized))
        upload.size = 9
        #expect(uploads.takeWaiting() == [upload])
        sized.size = nil
        #expect(!uploads.begin(sized))
        #expect(uploads.find(upload.id) == upload)
    }
}

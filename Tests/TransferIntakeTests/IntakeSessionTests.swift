import Glibc
import Synchronization
import Testing
import TransferCatalog
import TransferDatabase
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferIntake

@Suite struct IntakeSessionTests {
    private let content = [UInt8]([1, 2, 3])

    private func intent(_ path: String = "a", conflict: ConflictPolicy = .keepBoth) -> UploadIntent {
        UploadIntent(id: .random(), path: path, size: UInt64(content.count), conflict: conflict)
    }

    @Test func acknowledgesWhatIsPublished() throws {
        let fixture = try IntakeFixture()
        let session = fixture.session()
        let intent = intent()
        #expect(try session.bring(intent, content) == nil)
        let outcome = try #require(session.outcomes().first)
        #expect(outcome.code == .committed && outcome.path?.string == "a" && outcome.isDurable)
        #expect(outcome.digest == IntakeFixture.digest(content) && outcome.size == 3)
        #expect(fixture.files == ["a"])
    }

    /// Clients of the classic framings declare neither size nor digest.
    @Test func nothingHasToBeDeclared() throws {
        let fixture = try IntakeFixture()
        let session = fixture.session()
        var intent = intent()
        intent.size = nil
        #expect(try session.bring(intent, content, declared: DeclaredEnd()) == nil)
        let outcome = try #require(session.outcomes().first)
        #expect(outcome.code == .committed && outcome.digest == IntakeFixture.digest(content))
    }

    @Test(arguments: [DeclaredEnd(size: 2), DeclaredEnd(digest: Digest(.xxh128, [UInt8](repeating: 0, count: 16)))])
    func whatIsDeclaredIsCompared(_ end: DeclaredEnd) throws {
        let fixture = try IntakeFixture()
        let session = fixture.session()
        #expect(throws: Failure.self) { try session.bring(intent(), content, declared: end) }
        #expect(session.outcomes().isEmpty && fixture.files.isEmpty)
    }

    /// The uploads of a caller that leaves without waiting do not stay busy for other callers.
    @Test(arguments: [false, true], [false, true])
    func whoeverLeavesLetsOthersGoOn(isPublished: Bool, isInParts: Bool) throws {
        let fixture = try IntakeFixture()
        let intent = intent()
        let first = fixture.session()
        #expect(try isInParts ? first.bringInParts(intent, content) == nil : first.bring(intent, content) == nil)
        if isPublished { _ = first.publish() }
        first.leave()
        let second = fixture.session()
        guard isPublished else {
            #expect(try isInParts ? second.bringInParts(intent, content) == nil : second.bring(intent, content) == nil)
            #expect(second.outcomes().map(\.code) == [.committed])
            return
        }
        let known = try isInParts ? second.finishParts(intent, content) : second.bring(intent, content)
        #expect(known?.code == .committed && known?.path?.string == "a")
        #expect(fixture.files == ["a"])
    }

    /// The file at the path comes from this upload, which another connection is completing.
    @Test(arguments: [false, true]) func whatIsBeingCompletedIsNotSkipped(isInParts: Bool) throws {
        let fixture = try IntakeFixture()
        let intent = intent(conflict: .skip)
        let (first, second) = (fixture.session(), fixture.session())
        #expect(try isInParts ? first.bringInParts(intent, content) == nil : first.bring(intent, content) == nil)
        _ = first.publish()
        #expect(fixture.files == ["a"])
        let answer = try isInParts ? second.finishParts(intent, content) : second.bring(intent, content)
        #expect(answer?.code == .busy)
        #expect(first.outcomes().map(\.code) == [.committed])
        let again = try isInParts ? second.finishParts(intent, content) : second.bring(intent, content)
        #expect(again?.code == .committed)
    }

    /// The file at the path may come from this upload, but a change that is being made has given it a version that is
    /// not recorded yet.
    @Test func whatIsBeingChangedIsNotSkipped() throws {
        let fixture = try IntakeFixture()
        var intent = intent("d/a", conflict: .skip)
        intent.size = nil
        let session = fixture.session()
        #expect(try session.bring(intent, content) == nil)
        #expect(session.outcomes().map(\.code) == [.committed])
        let (changing, folder) = (fixture.intake.changing, try RelativePath("d"))
        let turn = changing.begin()
        #expect(changing.take([folder], for: turn))
        #expect(chmod(fixture.directory.path("store/d/a"), 0o600) == 0)
        #expect(try session.bring(intent, content)?.code == .busy)
        changing.end(turn)
        // When the change has ended, the server finds that another program has changed the file.
        #expect(try session.bring(intent, content)?.code == .skipped)
    }

    /// All uploads of a session share their digesters, so a session has one upload at a time.
    @Test func whoeverBeginsAnotherHasLostTheFirst() throws {
        let fixture = try IntakeFixture()
        let session = fixture.session()
        let (first, second) = (session.begin(intent("a"), mayEnd: false), session.begin(intent("b"), mayEnd: false))
        #expect(throws: Failure.self) { try content.withUnsafeBytes { try first.upload.write($0) } }
        try content.withUnsafeBytes { try second.upload.write($0) }
        #expect(try session.finish(second.upload, DeclaredEnd(digest: IntakeFixture.digest(content))) == nil)
        #expect(session.outcomes().map(\.code) == [.committed])
        #expect(fixture.files == ["b"])
    }

    /// A store may be able to write only in order.
    @Test func partsInOrder() throws {
        let fixture = try IntakeFixture()
        let block = UInt64(Limits.blockSize)
        let multipart = MultipartUpload(id: .random(), total: 3 * block, function: .xxh128, started: 0)
        func claim(_ range: Range<UInt64>) throws -> PartClaim {
            try multipart.claim(range, connection: 1, run: nil, abilities: StoreAbilities(writesAnywhere: false)) {
                () throws(Failure) in
                try fixture.store.resume(id: multipart.id, size: nil)
            }
        }
        #expect(throws: Failure.outOfOrder(next: 0)) { try claim(block..<2 * block) }
        try claim(0..<block).complete(digests: [UInt8](repeating: 0, count: 16))
        #expect(throws: Failure.outOfOrder(next: block)) { try claim(2 * block..<3 * block) }
        try claim(block..<3 * block).complete(digests: [UInt8](repeating: 0, count: 32))
        #expect(multipart.verified == 3 * block)
    }

    /// When a client leaves, the bytes reserved for the missing parts no longer count.
    @Test func givesBackTheQuotaOfWhatDidNotCome() throws {
        var limits = SpaceLimits()
        limits.quota = 64 << 20
        let fixture = try IntakeFixture(limits: limits)
        let session = fixture.session()
        let block = [UInt8](repeating: 7, count: Limits.blockSize)
        let id = UploadID.random()
        let part = UploadIntent(
            id: .random(), path: "a", size: UInt64(block.count),
            extent: .part(UploadPart(of: id, offset: 0, total: 60 << 20)))
        #expect(try session.bring(part, block)?.code == .staged)
        #expect(fixture.store.quota?.used == 60 << 20)
        session.leave()
        fixture.intake.multiparts.letGo(desertedUpTo: .max)
        #expect(fixture.store.quota?.used == UInt64(Limits.blockSize))
    }

    /// The answer to content that is sent again is decided at its end, because the stored file may be lost while the
    /// content is read.
    @Test(arguments: [false, true]) func whatIsGoneWhenItsContentHasComeAgain(isRotten: Bool) throws {
        let fixture = try IntakeFixture()
        let (session, content) = (fixture.session(), [UInt8](repeating: 7, count: 100))
        let intent = UploadIntent(id: .random(), path: "a", size: 100)
        _ = try session.bring(intent, content)
        #expect(session.outcomes().map(\.code) == [.committed])
        let begun = session.begin(intent, mayEnd: false)
        try content.withUnsafeBytes { try begun.upload.write($0) }
        let path = try RelativePath("a")
        if isRotten {
            let version = try #require(fixture.store.version(at: path))
            fixture.intake.known.add(
                rotten: RottenFile(version: version, digest: IntakeFixture.digest(content)))
        } else {
            #expect(unlink(fixture.directory.path("store/a")) == 0)
        }
        let error = #expect(throws: Failure.self) { try session.finish(begun.upload, DeclaredEnd()) }
        #expect(error?.code == .busy)
        session.leave()
        let again = fixture.session()
        _ = try again.bring(intent, content)
        #expect(again.outcomes().first?.code.isSuccess == true)
        let version = try #require(fixture.store.version(at: path))
        #expect(!fixture.intake.known.isRotten(version))
    }

    /// A long lookup is answered in several steps as buffers become free, and the records are asked for each ID once.
    @Test func eachIDIsLookedUpOnce() throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        let folder = Array(repeating: String(repeating: "a", count: 250), count: 15).joined(separator: "/")
        let intents = (1...100).map { intent("\(folder)/\($0)") }
        let earlier = try IntakeFixture(in: directory)
        let session = earlier.session()
        for intent in intents { #expect(try session.bring(intent, content) == nil) }
        #expect(session.outcomes().allSatisfy { $0.code == .committed })
        earlier.end()
        let steps = Atomic(0)
        let calls = DatabaseCalls(failure: { call in
            if call == .step { steps.add(1, ordering: .relaxed) }
            return 0
        })
        let fixture = try IntakeFixture(in: directory, calls: calls)
        let asking = fixture.session()
        let before = steps.load(ordering: .relaxed)
        var rest = intents.map(\.id)[...]
        var answered: [Int] = []
        while !rest.isEmpty {
            let found = asking.lookup(Array(rest), .xxh128, room: 1)
            #expect(found.allSatisfy { $0 != nil })
            answered.append(found.count)
            rest = rest.dropFirst(found.count)
        }
        #expect(answered == [32, 32, 32, 4])
        #expect(steps.load(ordering: .relaxed) - before < 3 * intents.count / 2)
    }

    /// If the catalog cannot say whether a file is rotten, no upload is reported as stored.
    @Test func whatTheCatalogCannotSayIsNotStored() throws {
        let fails = Atomic(false)
        // SQLITE_IOERR (sqlite.org/rescode.html#ioerr).
        let calls = DatabaseCalls(failure: { _ in fails.load(ordering: .relaxed) ? 10 : 0 })
        let fixture = try IntakeFixture(in: try TemporaryDirectory(prefersMemory: true), calls: calls)
        let session = fixture.session()
        let intent = intent()
        _ = try session.bring(intent, content)
        #expect(session.outcomes().map(\.code) == [.committed])
        #expect(session.lookup([intent.id], .xxh128)[0] != nil)
        let version = try #require(fixture.store.version(at: try RelativePath("a")))
        fixture.intake.known.add(
            rotten: RottenFile(version: version, digest: IntakeFixture.digest(content)))
        #expect(session.lookup([intent.id], .xxh128)[0] == nil)
        fails.store(true, ordering: .relaxed)
        #expect(session.lookup([intent.id], .xxh128)[0] == nil)
        fails.store(false, ordering: .relaxed)
    }
}

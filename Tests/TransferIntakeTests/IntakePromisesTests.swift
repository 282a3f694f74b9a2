import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferAccess
@testable import TransferIntake

/// Promises of the intake to a single caller, tested without a connection.
@Suite struct IntakePromisesTests {
    /// Answering with the acknowledgement of the ID would keep the client from sending content that is not stored.
    @Test func anIDDoesNotStandForContentOfAnotherSize() throws {
        let fixture = try PromisingIntake()
        let (session, id) = (fixture.session(), UploadID.random())
        #expect(session.send(UploadIntent(id: id, path: "a", size: 3), [1, 2, 3]).code == .committed)
        let begun = session.begin(UploadIntent(id: id, path: "a", size: 4), mayEnd: true)
        #expect(begun.outcome?.code == .contentMismatch)
        #expect(session.begin(UploadIntent(id: id, path: "a", size: 3), mayEnd: true).outcome?.code == .committed)
    }

    /// Skipped parts do not count for the number of uploads in parts that a connection may have.
    @Test func whatNeedNotComeTakesNoPlace() throws {
        let fixture = try PromisingIntake()
        defer { withExtendedLifetime(fixture) {} }
        let session = fixture.session()
        #expect(session.send(UploadIntent(id: .random(), path: "taken", size: 2), [1, 2]).code == .committed)
        for _ in 0..<70 {
            var part = UploadIntent.part(of: .random(), "taken", offset: 0, size: 3, total: 3)
            part.conflict = .skip
            #expect(session.begin(part, mayEnd: true).outcome?.code == .skipped)
        }
    }

    /// A client may send an upload in parts after it has sent it whole over a lost connection, while the server still
    /// reads from that connection.
    @Test func wholeAndInPartsAtOnce() throws {
        let fixture = try PromisingIntake()
        let (old, new, id) = (fixture.session(number: 1), fixture.session(number: 2), UploadID.random())
        let content: [UInt8] = [1, 2, 3]
        let end = DeclaredEnd(size: 3, digest: content.digest)
        let whole = old.begin(UploadIntent(id: id, path: "a", size: 3), mayEnd: false).upload
        try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try whole.write(bytes) }
        #expect(try old.finish(whole, end) == nil)
        #expect(new.send(.part(of: id, "a", offset: 0, size: 3, total: 3), content).code == .staged)
        let multipart = new.begin(UploadIntent(id: id, path: "a", size: 3, extent: .multipart), mayEnd: false).upload
        #expect(try new.finish(multipart, end) == nil)
        #expect(old.publish().ended.isEmpty)
        // The server does not know yet what becomes of the other attempt.
        #expect(new.publish().ended.map(\.outcome.code) == [.busy])
        #expect(old.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed])
        #expect(new.acknowledge().flatMap(\.uploads).isEmpty)
        #expect(new.sendInParts(id, "a", content).code == .committed)
        let other = try RelativePath("a-1")
        // The parts that were sent again are not kept.
        #expect(fixture.intake.multiparts.isEmpty && !fixture.store.hasPart(id))
        #expect(fixture.store.version(at: other) == nil)
    }

    /// A connection may have 64 uploads in parts. Refused parts do not count.
    @Test func refusedPartsAreNoUploads() throws {
        let fixture = try PromisingIntake()
        let session = fixture.session()
        #expect(session.send(UploadIntent(id: .random(), path: "a", size: 1), [1]).code == .committed)
        for _ in 0..<100 {
            var part = UploadIntent.part(of: .random(), "a", offset: 0, size: 3, total: 3)
            part.conflict = .skip
            #expect(session.send(part, [1, 2, 3]).code == .skipped)
            part.conflict = .fail
            #expect(session.send(part, [1, 2, 3]).code == .pathConflict)
        }
        #expect(fixture.intake.multiparts.isEmpty)
    }

    /// The operator may have given the client another folder since the upload.
    @Test func whatIsOutsideAClientsFolderIsNotTold() throws {
        let fixture = try PromisingIntake()
        let id = UploadID.random()
        #expect(fixture.session().send(UploadIntent(id: id, path: "a", size: 1), [1]).code == .committed)
        #expect(fixture.session().lookup([id], .xxh128)[0] != nil)
        let folder = try RelativePath("camera")
        let elsewhere = fixture.session { $0.folder = folder }
        #expect(elsewhere.lookup([id], .xxh128) == [nil])
        #expect(elsewhere.begin(UploadIntent(id: id, path: "a", size: 1), mayEnd: true).outcome == nil)
    }

    @Test(arguments: [(Durability.none, false), (.commit, true)])
    func onlyWhatIsSyncedIsDurable(_ durability: Durability, _ isDurable: Bool) throws {
        let fixture = try PromisingIntake(durability)
        let outcome = fixture.session().send(UploadIntent(id: .random(), path: "a", size: 1), [1])
        #expect(outcome.code == .committed && outcome.isDurable == isDurable)
    }
}

// MARK: Rights

extension IntakePromisesTests {
    @Test func whoseAccessWasTakenBackIsToldNothing() throws {
        let fixture = try PromisingIntake()
        let (session, id) = (fixture.session(), UploadID.random())
        #expect(session.send(UploadIntent(id: id, path: "a", size: 1), [1]).code == .committed)
        session.refusal = Refusal.revoked
        #expect(session.lookup([id], .xxh128) == [nil])
        #expect(
            session.begin(UploadIntent(id: id, path: "a", size: 1), mayEnd: true).outcome?.code == .authenticationFailed
        )
    }

    /// The question creates the upload in parts and takes its bytes from the connection that sends them.
    @Test func whoMayNotSendMayNotAskWhatThereIs() throws {
        let fixture = try PromisingIntake()
        let session = fixture.session { $0.rights = .readOnly }
        let intent = UploadIntent(id: .random(), path: "a", size: 1 << 20, extent: .multipart)
        guard case .ended(let ended) = session.have(intent) else {
            Issue.record("it was answered")
            return
        }
        #expect(ended.outcome.code == .forbidden)
    }
}

// MARK: Uploads in parts

extension IntakePromisesTests {
    @Test func anUploadInPartsThatWasRemovedIsSentAgain() throws {
        let fixture = try PromisingIntake()
        let (session, id) = (fixture.session(), UploadID.random())
        #expect(session.sendInParts(id, "a", [1, 2, 3]).code == .committed)
        fixture.remove("a")
        #expect(session.sendInParts(id, "a", [1, 2, 3]).code == .committed)
        #expect(fixture.size("a") == 3)
    }

    @Test func anUploadInPartsWhoseEndWasRefusedIsSentAgain() throws {
        let fixture = try PromisingIntake()
        let (session, id) = (fixture.session(), UploadID.random())
        #expect(session.sendInParts(id, "a", [1, 2, 3], digest: [UInt8]([4]).digest).code == .digestMismatch)
        #expect(session.sendInParts(id, "a", [1, 2, 3]).code == .committed)
    }

    /// A stream may be shorter when it is sent again.
    @Test func whatAnEarlierAttemptLeftBehindTheEndGoes() throws {
        let fixture = try PromisingIntake()
        let (session, id) = (fixture.session(), UploadID.random())
        let block = [UInt8](repeating: 1, count: Limits.blockSize)
        let first = UploadIntent.part(of: id, "a", offset: 0, size: UInt64(block.count), total: nil)
        #expect(session.send(first, block).code == .staged)
        session.leave()
        fixture.intake.multiparts.letGo(desertedUpTo: .max)
        #expect(fixture.intake.multiparts.isEmpty && fixture.store.hasPart(id))
        #expect(fixture.session(number: 2).sendInParts(id, "a", [1, 2, 3]).code == .committed)
        #expect(fixture.size("a") == 3)
    }

    /// Holes cost their sender nothing, so an upload without sent bytes gets no lasting place on the disk.
    @Test func holesHaveNoPlaceOnTheDisk() throws {
        let fixture = try PromisingIntake()
        let (session, id) = (fixture.session(), UploadID.random())
        let zeros = [UInt8](repeating: 0, count: Limits.blockSize)
        let begun = session.begin(
            .part(of: id, "a", offset: 0, size: UInt64(zeros.count), total: nil), mayEnd: false)
        try zeros.withUnsafeBytes { try begun.upload.write($0, isHole: true) }
        let end = DeclaredEnd(size: UInt64(zeros.count), digest: IntakeFixture.digest(zeros))
        #expect(try session.finish(begun.upload, end)?.code == .staged)
        #expect(fixture.store.hasPart(id))
        session.leave()
        fixture.intake.multiparts.letGo(desertedUpTo: .max)
        #expect(fixture.intake.multiparts.isEmpty && !fixture.store.hasPart(id))
    }

    /// The server keeps an upload while its client is connected: the client could just be slow.
    @Test func whatSomebodyWorksOnIsNotLetGo() throws {
        let fixture = try PromisingIntake()
        let (session, id) = (fixture.session(), UploadID.random())
        #expect(session.send(.part(of: id, "a", offset: 0, size: 3, total: 3), [1, 2, 3]).code == .staged)
        fixture.intake.multiparts.letGo(desertedUpTo: .max)
        #expect(fixture.intake.multiparts[id] != nil && fixture.store.hasPart(id))
        session.leave()
        fixture.intake.multiparts.letGo(desertedUpTo: .max)
        #expect(fixture.intake.multiparts.isEmpty && !fixture.store.hasPart(id))
    }

    /// An upload with an open connection does not expire, however old it is.
    @Test func whatSomebodyWorksOnDoesNotExpire() throws {
        let fixture = try PromisingIntake()
        let (session, id) = (fixture.session(), UploadID.random())
        let block = [UInt8](repeating: 1, count: Limits.blockSize)
        #expect(
            session.send(.part(of: id, "a", offset: 0, size: UInt64(block.count), total: nil), block).code == .staged)
        // With a negative period even a part written in the next minute is too old.
        fixture.intake.keepUnfinished = -60_000_000_000
        _ = try fixture.intake.expire(leftovers: false)
        #expect(fixture.store.hasPart(id))
        session.leave()
        fixture.intake.multiparts.letGo(desertedUpTo: .max)
        _ = try fixture.intake.expire(leftovers: false)
        #expect(!fixture.store.hasPart(id))
    }
}

// MARK: Blocks

extension IntakePromisesTests {
    @Test func aBlockIsComparedWithWhatIsSaidOfIt() throws {
        let fixture = try PromisingIntake()
        let block = [UInt8](repeating: 1, count: Limits.blockSize)
        let intent = UploadIntent(id: .random(), path: "a", size: UInt64(2 * block.count))
        let upload = fixture.session().begin(intent, mayEnd: false).upload
        #expect(throws: Failure.self) { try upload.check(0, block.digest) }
        try block.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try upload.write(bytes) }
        try upload.check(0, block.digest)
        #expect(throws: Failure.self) { try upload.check(1, block.digest) }
        #expect(throws: Failure.self) { try upload.check(0, [UInt8]([4]).digest) }
    }
}

// MARK: Acknowledged uploads

extension IntakePromisesTests {
    /// The server acknowledges a stored upload again only for the same digest, because a client that has not sent the
    /// content could know its ID.
    @Test func theEndOfOtherContentIsRefused() throws {
        let fixture = try PromisingIntake()
        let (session, id) = (fixture.session(), UploadID.random())
        let content: [UInt8] = [1, 2, 3]
        #expect(session.sendInParts(id, "a", content).code == .committed)
        let intent = UploadIntent(id: id, path: "a", size: 3, extent: .multipart)
        #expect(session.send(intent, end: DeclaredEnd(size: 3, digest: content.digest)).code == .committed)
        let other = DeclaredEnd(size: 3, digest: [UInt8]([4]).digest)
        #expect(session.send(intent, end: other).code == .contentMismatch)
    }

    /// Without a catalog the server does not know how many bytes the client has stored.
    @Test func aQuotaThatCannotBeCountedIsNotEmpty() throws {
        let fixture = try PromisingIntake(hasCatalog: false)
        let intent = UploadIntent(id: .random(), path: "a", size: 1)
        #expect(fixture.session { $0.quota = 100_000 }.send(intent, [1]).code == .busy)
        #expect(fixture.size("a") == nil)
        #expect(fixture.session().send(intent, [1]).code == .committed)
    }

    @Test func aFileThatWasPushedTwiceCountsOnce() throws {
        let fixture = try PromisingIntake()
        for code in [ResultCode.committed, .alreadyStored] {
            #expect(fixture.session().send(UploadIntent(id: .random(), path: "a", size: 3), [1, 2, 3]).code == code)
        }
        // The quota is counted when it is first asked for.
        let session = fixture.session { $0.quota = 100_000 }
        let price = QuotaPrice.file("a") + QuotaPrice.row("a")
        #expect(fixture.intake.quotas.quota(for: session.caller.grant)?.used == 3 + price)
    }

    /// The server touches a file in this way when it removes a second name that a power cut has left.
    @Test func aFileThatWasOnlyTouchedCounts() throws {
        let fixture = try PromisingIntake()
        let intent = UploadIntent(id: .random(), path: "a", size: 3)
        #expect(fixture.session().send(intent, [1, 2, 3]).code == .committed)
        let path = try RelativePath("a")
        let before = fixture.store.version(at: path)
        // The file system's clock may take some calls to move on.
        while fixture.store.version(at: path) == before {
            try #require(chmod(fixture.directory.path("store/a"), 0o600) == 0)
        }
        let session = fixture.session { $0.quota = 100_000 }
        #expect(fixture.intake.quotas.quota(for: session.caller.grant)?.used == 3 + QuotaPrice.file("a"))
    }
}

// MARK: Receipts

extension IntakePromisesTests {
    @Test(arguments: [(Durability.none, false), (.commit, true)])
    func onlyWhatIsDurableHasAReceipt(_ durability: Durability, _ isDurable: Bool) throws {
        let fixture = try PromisingIntake(durability, signer: KeyPair())
        let session = fixture.session()
        session.giveReceipts()
        let begun = session.begin(UploadIntent(id: .random(), path: "a", size: 0), mayEnd: false)
        #expect(try session.finish(begun.upload, DeclaredEnd(size: 0)) == nil)
        #expect(session.publish().ended.isEmpty)
        let ended = try #require(session.acknowledge().first)
        #expect(ended.uploads.map(\.outcome.code) == [.committed])
        #expect((ended.signedBatch != nil) == isDurable)
    }
}

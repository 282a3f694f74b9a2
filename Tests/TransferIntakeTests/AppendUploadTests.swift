import Glibc
import Synchronization
import Testing
import TransferAccess
import TransferCatalog
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// Uploads whose size is not known at their beginning and that grow request by request.
@Suite struct AppendUploadTests {
    private static func intent(
        _ id: UploadID, _ count: Int, at offset: UInt64 = 0, isNew: Bool = true, isLast: Bool = false
    ) -> UploadIntent {
        let append = UploadAppend(at: offset, total: nil, ending: isLast ? .here : .never, isNew: isNew)
        return UploadIntent(
            id: id, path: "a", size: UInt64(count), conflict: .keepBoth, extent: .append(append))
    }

    /// Sends an upload of four bytes in two requests. It is complete afterwards and waits for its publication.
    private static func bringInTwo(_ id: UploadID, over session: IntakeSession) throws {
        #expect(try session.bring(intent(id, 3), [1, 2, 3], declared: DeclaredEnd())?.code == .staged)
        let last = intent(id, 1, at: 3, isNew: false, isLast: true)
        #expect(try session.bring(last, [4], declared: DeclaredEnd()) == nil)
    }

    /// A growing upload counts as unfinished for its client from its first request to its end. The record outlives the
    /// server.
    @Test func whatGrowsIsUnfinished() throws {
        let fixture = try IntakeFixture()
        let (id, session) = (UploadID.random(), fixture.session(of: "a"))
        #expect(try session.bring(Self.intent(id, 3), [1, 2, 3], declared: DeclaredEnd())?.code == .staged)
        #expect(fixture.intake.known.unfinished(id)?.client == session.caller.id)
        #expect(try fixture.intake.known.records.unfinished().map(\.id) == [id])
        #expect(
            try session.bring(Self.intent(id, 1, at: 3, isNew: false, isLast: true), [4], declared: DeclaredEnd())
                == nil)
        #expect(session.outcomes().map(\.code) == [.committed] && fixture.files == ["a"])
        #expect(fixture.intake.known.unfinished(id) == nil)
    }

    /// A client that begins uploads without end uses up its share of places and loses its oldest uploads.
    @Test func aClientLosesItsOldestUploads() throws {
        let fixture = try IntakeFixture(in: try TemporaryDirectory(prefersMemory: true))
        let session = fixture.session(of: "a")
        let ids = (0..<UnfinishedUploads.share + 3).map { UploadID(high: 7, low: UInt64($0)) }
        for id in ids {
            #expect(try session.bring(Self.intent(id, 1), [1], declared: DeclaredEnd())?.code == .staged)
        }
        #expect(ids.map(fixture.store.hasPart) == [false, false, false] + ids.dropFirst(3).map { _ in true })
        #expect(fixture.intake.known.unfinished(ids[0]) == nil && fixture.intake.known.unfinished(ids[3]) != nil)
        #expect(try fixture.intake.known.records.unfinished().count == UnfinishedUploads.share)
        let other = UploadID.random()
        #expect(
            try fixture.session(of: "b").bring(Self.intent(other, 1), [1], declared: DeclaredEnd())?.code == .staged)
        #expect(fixture.store.hasPart(other) && fixture.store.hasPart(ids[3]))
    }

    /// No request continues an upload whose bytes a failed sync should have covered, and the ID is free for another
    /// attempt. The failure occurs in a question for the offset, or in a request that continues the upload.
    @Test(arguments: [false, true]) func aSyncThatFails(isQuestion: Bool) throws {
        let fails = Atomic(false)
        let disk = Disk(interception: { call, body in
            if fails.load(ordering: .relaxed), case .sync = call { return -5 }
            return body()
        })
        let fixture = try IntakeFixture(
            in: try TemporaryDirectory(prefersMemory: true), disk: disk,
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false))
        let (id, first, second) = (UploadID.random(), fixture.session(of: "a"), fixture.session(of: "a"))
        let begun = first.begin(Self.intent(id, 10), mayEnd: false)
        try ([1, 2, 3] as [UInt8]).withUnsafeBytes { try begun.upload.write($0) }
        fails.store(true, ordering: .relaxed)
        if isQuestion {
            #expect(throws: Failure.self) { try second.unfinishedAppend(id) }
        } else {
            let next = second.begin(Self.intent(id, 10, at: 3, isNew: false), mayEnd: false)
            #expect(next.outcome?.code.isSuccess == false)
        }
        fails.store(false, ordering: .relaxed)
        #expect(try second.unfinishedAppend(id) == nil)
        #expect(!fixture.store.hasPart(id))
        #expect(try second.bring(Self.intent(id, 3), [1, 2, 3], declared: DeclaredEnd())?.code == .staged)
    }

    /// A server dies after an upload has got its name and before the server has recorded that. The client ends the
    /// upload at the next server, whatever the policy for conflicts says about an existing file.
    @Test(arguments: [ConflictPolicy.keepBoth, .skip, .fail, .overwrite], [1, 4])
    func whatWasPublishedIsEndedLater(_ conflict: ConflictPolicy, _ told: Int) throws {
        let first = try IntakeFixture()
        let (id, session) = (UploadID.random(), first.session(of: "a"))
        let content: [UInt8] = [1, 2, 3, 4]
        func intent(_ range: Range<Int>, isLast: Bool) -> UploadIntent {
            let append = UploadAppend(
                at: UInt64(range.lowerBound), total: 4, ending: isLast ? .here : .never,
                isNew: range.lowerBound == 0)
            return UploadIntent(
                id: id, path: "a", size: UInt64(range.count), conflict: conflict, extent: .append(append))
        }
        _ = try session.bring(intent(0..<told, isLast: false), Array(content[..<told]), declared: DeclaredEnd())
        #expect(
            try session.bring(intent(told..<4, isLast: true), Array(content[told...]), declared: DeclaredEnd()) == nil)
        _ = session.publish()
        #expect(first.files == ["a"])
        let next = try IntakeFixture(after: first)
        let later = next.session(of: "a")
        let unfinished = try #require(try later.unfinishedAppend(id))
        #expect(unfinished.offset == 4 && unfinished.total == 4)
        #expect(try later.bring(intent(4..<4, isLast: true), [], declared: DeclaredEnd()) == nil)
        #expect(later.outcomes().map(\.code) == [.alreadyStored] && next.files == ["a"])
        #expect(try later.unfinishedAppend(id) == nil && later.lookup([id], .xxh128)[0] != nil)
        #expect(names(in: next.directory.path("store/.transfer/incoming")).isEmpty)
    }

    /// The sheet of a completed upload is back at the next start, as after a crash or a power cut. The upload stays
    /// completed.
    @Test func whatHasEndedDoesNotComeBack() throws {
        let first = try IntakeFixture()
        let (id, session) = (UploadID.random(), first.session(of: "a"))
        try Self.bringInTwo(id, over: session)
        let sheet = first.directory.path("store/.transfer/incoming/\(id).sheet")
        let kept = first.directory.path("kept")
        try system("link") { link(sheet, kept) }
        #expect(session.outcomes().map(\.code) == [.committed])
        try system("rename") { rename(kept, sheet) }
        let next = try IntakeFixture(after: first)
        let later = next.session(of: "a")
        let append = UploadAppend(at: 4, total: 4, ending: .here)
        let end = UploadIntent(id: id, path: "a", size: 0, conflict: .keepBoth, extent: .append(append))
        #expect(later.begin(end, mayEnd: true).outcome?.code == .committed)
        #expect(try later.unfinishedAppend(id) == nil && later.lookup([id], .xxh128)[0] != nil)
        #expect(names(in: next.directory.path("store/.transfer/incoming")).isEmpty && next.files == ["a"])
    }

    /// A client without the right to send cannot continue the upload, and its attempt leaves the upload to a client
    /// with the right.
    @Test func whoMayNotSendBringsNothingBack() throws {
        let first = try IntakeFixture()
        let (id, session) = (UploadID.random(), first.session(of: "a"))
        try Self.bringInTwo(id, over: session)
        _ = session.publish()
        let next = try IntakeFixture(after: first)
        var options = AccessOptions()
        options.rights = .readOnly
        let reader = next.session(of: "a", options)
        #expect { try reader.unfinishedAppend(id) } throws: { ($0 as? Failure)?.code == .forbidden }
        #expect(try next.session(of: "a").unfinishedAppend(id)?.offset == 4)
    }

    /// Withdrawing a published upload copies no content. It removes the upload's record and leaves the published file.
    @Test func whatWasPublishedIsForgottenAtItsSendersWish() throws {
        let first = try IntakeFixture()
        let (id, session) = (UploadID.random(), first.session(of: "a"))
        try Self.bringInTwo(id, over: session)
        _ = session.publish()
        let copied = Locked(0)
        let disk = Disk(interception: { call, body in
            switch call {
            case .write, .clone: copied.withLock { $0 += 1 }
            default: break
            }
            return body()
        })
        let next = try IntakeFixture(after: first, disk: disk)
        let later = next.session(of: "a")
        copied.withLock { $0 = 0 }
        #expect(try later.takeBack(append: id) && next.files == ["a"] && copied.withLock { $0 } == 0)
        #expect(names(in: next.directory.path("store/.transfer/incoming")).isEmpty)
        #expect(try !later.takeBack(append: id) && later.unfinishedAppend(id) == nil)
    }

    @Test func whatIsRefusedOrTakenBackIsNot() throws {
        let fixture = try IntakeFixture()
        let session = fixture.session(of: "a")
        let refused = UploadID.random()
        #expect(throws: Failure.self) {
            try session.bring(Self.intent(refused, 2), [1, 2, 3], declared: DeclaredEnd())
        }
        let taken = UploadID.random()
        _ = try session.bring(Self.intent(taken, 3), [1, 2, 3], declared: DeclaredEnd())
        #expect(try session.takeBack(append: taken))
        #expect(fixture.intake.known.unfinished(taken) == nil)
    }
}

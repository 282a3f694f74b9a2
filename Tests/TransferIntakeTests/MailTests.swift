import TransferAccess
import TransferDatabase
import TransferLedger
import TransferMail
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport
import Testing

@testable import TransferIntake

/// Mail is acknowledged when it is durable in all mailboxes, and never before.
@Suite struct MailTests {
    /// Makes commits of the ledger fail while it is set.
    private final class Fault: Sendable {
        private let isOn = Locked(false)

        func set(_ isOn: Bool) { self.isOn.withLock { $0 = isOn } }

        var calls: DatabaseCalls {
            DatabaseCalls(failure: { call in self.isOn.withLock { $0 } && call == .commit ? 10 : 0 })
        }
    }

    private let fault = Fault()
    private let fixture: IntakeFixture
    private let content = Array("for bob".utf8)

    init() throws {
        fixture = try IntakeFixture(
            people: [MailPerson("bob"), MailPerson("carol"), MailPerson("dave", takesFrom: ["erin"])],
            calls: fault.calls)
    }

    private var ledger: any MailRecords { get throws { try #require(fixture.intake.mailroom).ledger } }
    private var mailFiles: [RelativePath] { fixture.store.mailFiles() }

    private func intent(_ number: UInt64 = 1, to names: [String] = ["bob"], size: UInt64? = 7) -> UploadIntent {
        UploadIntent(
            id: UploadID(high: 1, low: number), path: "photos/a.png", size: size, kind: .picture, recipients: names)
    }

    private func acknowledged(_ outcomes: [UploadOutcome]) throws -> Acknowledgement {
        guard outcomes.count == 1, case .acknowledged(let acknowledgement)? = outcomes.first else {
            throw Failure(.storageFailed, "\(outcomes)")
        }
        return acknowledgement
    }

    private func refusal(_ outcome: UploadOutcome?) -> ResultCode? {
        if case .refused(let error, _)? = outcome { error.code } else { nil }
    }

    @Test func itIsStoredOnceAndWaitsForEach() throws {
        let session = fixture.session(of: "alice")
        #expect(try session.bring(intent(to: ["bob", "carol"]), content) == nil)
        #expect(try ledger.waiting() == (0, 0))
        let given = try acknowledged(session.outcomes())
        #expect(given.code == .committed && given.path.string == "photos/a.png" && given.size == 7)
        #expect(fixture.files == [])
        #expect(mailFiles.count == 1)
        for name in ["bob", "carol"] {
            let found = try ledger.inbox(of: name, after: 0, limit: 9)
            #expect(found.map(\.mail.name) == ["photos/a.png"] && found.map(\.mail.sender) == ["alice"])
            #expect(found.map(\.mail.path) == mailFiles)
        }
        #expect(try fixture.intake.known.count() == 0)
    }

    @Test func aRetryStoresAndDeliversNothingTwice() throws {
        _ = try fixture.session(of: "alice").bring(intent(), content)
        let first = fixture.session(of: "alice")
        _ = try first.bring(intent(), content)
        _ = try acknowledged(first.outcomes())
        let second = fixture.session(of: "alice")
        let begun = second.begin(intent(), mayEnd: true)
        #expect(try acknowledged([#require(begun.outcome)]).code == .alreadyStored)
        // Content that a client sends nevertheless is compared.
        #expect(try acknowledged([#require(try second.bring(intent(), content))]).code == .alreadyStored)
        #expect(refusal(try? second.bring(intent(), Array("for Bob".utf8))) == nil)
        #expect(mailFiles.count == 1)
        #expect(try ledger.waiting() == (1, 7))
    }

    /// Two connections send the same mail at the same time.
    @Test func twoAtOnceAreOne() throws {
        let sessions = [fixture.session(of: "alice"), fixture.session(of: "alice")]
        for session in sessions { #expect(try session.bring(intent(), content) == nil) }
        let outcomes = sessions.flatMap { $0.outcomes() }
        #expect(outcomes.count == 2)
        for outcome in outcomes { _ = try acknowledged([outcome]) }
        #expect(mailFiles.count == 1)
        #expect(try ledger.waiting() == (1, 7))
        #expect(try ledger.openPaths() == Set(mailFiles))
    }

    @Test func whatWasReceivedIsNotSentAgain() throws {
        let session = fixture.session(of: "alice")
        _ = try session.bring(intent(), content)
        _ = session.outcomes()
        let id = intent().id
        let ended = try #require(try fixture.intake.mailroom?.settle([id], by: "bob", as: .delivered).ended)
        fixture.intake.mail.free(ended.freed)
        #expect(mailFiles == [])
        #expect(try acknowledged([#require(session.begin(intent(), mayEnd: true).outcome)]).code == .alreadyStored)
        #expect(try #require(try session.bring(intent(), content)).code == .alreadyStored)
        #expect(mailFiles == [] && session.outcomes().isEmpty)
    }

    @Test(arguments: [
        (["erik"], ResultCode.unknownRecipient), (["bob", "erik"], .unknownRecipient), (["dave"], .forbidden),
        (["bo\u{308}b"], .unknownRecipient),
    ]) func refusedBeforeAByteTravels(_ names: [String], _ code: ResultCode) throws {
        let session = fixture.session(of: "alice")
        #expect(refusal(session.begin(intent(to: names), mayEnd: true).outcome) == code)
        #expect(refusal(session.begin(intent(to: names), mayEnd: false).outcome) == code)
        #expect(mailFiles == [])
    }

    /// Having sent mail to one recipient does not let a client send the same upload to others.
    @Test func aKnownUploadIsNotForEverybody() throws {
        let session = fixture.session(of: "alice")
        _ = try session.bring(intent(), content)
        _ = try acknowledged(session.outcomes())
        for (names, code) in [(["bob", "erik"], ResultCode.unknownRecipient), (["dave"], .forbidden)] {
            #expect(refusal(session.begin(intent(to: names), mayEnd: true).outcome) == code)
        }
        #expect(try ledger.deliveries(of: intent().id).map(\.recipient) == ["bob"])
        #expect(try session.bring(intent(to: ["bob", "carol"]), content) == nil)
        _ = try acknowledged(session.outcomes())
        #expect(try ledger.deliveries(of: intent().id).map(\.recipient) == ["bob", "carol"])
        #expect(mailFiles.count == 1)
    }

    @Test func whoHasNoNameSendsNothing() throws {
        #expect(refusal(fixture.session().begin(intent(), mayEnd: true).outcome) == .forbidden)
        var options = AccessOptions()
        options.rights = .readOnly
        #expect(refusal(fixture.session(of: "alice", options).begin(intent(), mayEnd: true).outcome) == .forbidden)
        let without = try IntakeFixture()
        #expect(refusal(without.session(of: "alice").begin(intent(), mayEnd: true).outcome) == .forbidden)
    }

    @Test func aFullMailboxIsToldOnTheWay() throws {
        let session = fixture.session(of: "alice")
        #expect(refusal(session.begin(intent(size: 1 << 20), mayEnd: true).outcome) == .quotaExceeded)
        // The size of the mail was not declared.
        let large = [UInt8](repeating: 7, count: 600_000)
        #expect(try session.bring(intent(size: nil), large) == nil)
        #expect(session.outcomes().map(refusal) == [.quotaExceeded])
        #expect(mailFiles == [])
    }

    @Test func badNamesAreRefused() throws {
        let session = fixture.session(of: "alice")
        for path in ["../a", "/etc/passwd", "", ".transfer/mail/x", "a/.transfer/b", "\u{FFFD}\0"] {
            var intent = intent()
            intent.path = path
            #expect(refusal(session.begin(intent, mayEnd: true).outcome) == .invalidPath, "\(path)")
        }
    }

    @Test func anUploadInPartsIsDelivered() throws {
        let session = fixture.session(of: "alice")
        #expect(try session.bringInParts(intent(), content) == nil)
        _ = try acknowledged(session.outcomes())
        #expect(try ledger.openPaths() == Set(mailFiles))
        #expect(mailFiles.count == 1)
        #expect(fixture.intake.known.unfinished(intent().id) == nil)
    }

    /// Content left by a failed sync never counts as delivered, and content written twice is removed.
    @Test func aLedgerThatFailsAcknowledgesNothing() throws {
        let session = fixture.session(of: "alice")
        try fixture.intake.mailroom?.remember(intent().recipients + ["alice"])
        fault.set(true)
        for _ in 0..<2 {
            #expect(try session.bring(intent(), content) == nil)
            #expect(session.outcomes().map(refusal) == [.storageFailed])
        }
        fault.set(false)
        #expect(try session.bring(intent(), content) == nil)
        _ = try acknowledged(session.outcomes())
        #expect(try ledger.openPaths() == Set(mailFiles))
        #expect(mailFiles.count == 1)
        #expect(try ledger.waiting() == (1, 7))
    }

    /// The upload is published without its acknowledgement, as if the server was killed after it had stored the content
    /// and before it had recorded the delivery.
    @Test func contentInNoMailboxGoesAtTheNextStart() throws {
        let session = fixture.session(of: "alice")
        _ = try session.bring(intent(), content)
        _ = session.publish()
        #expect(mailFiles.count == 1)
        let other = fixture.session(of: "alice")
        _ = try other.bring(intent(2), content)
        _ = other.outcomes()
        #expect(try fixture.intake.mail.sweep() == 1)
        #expect(try ledger.openPaths() == Set(mailFiles))
    }

    /// The sender of a stream no longer has the blocks, so content that came in parts is kept for it.
    @Test func contentInPartsIsUnfinishedAgain() throws {
        let session = fixture.session(of: "alice")
        #expect(try session.bringInParts(intent(), content) == nil)
        _ = session.publish()
        #expect(mailFiles.count == 1)
        #expect(try fixture.intake.mail.sweep() == 0)
        #expect(mailFiles.isEmpty && fixture.store.hasPart(intent().id))
    }

    @Test func whatNobodyComesForEnds() throws {
        let session = fixture.session(of: "alice")
        _ = try session.bring(intent(), content)
        _ = session.outcomes()
        #expect(try fixture.intake.mail.expire(after: 3_600_000_000_000) == [])
        #expect(mailFiles.count == 1)
        #expect(try fixture.intake.mail.expire(after: -1).map(\.state) == [.expired])
        #expect(mailFiles == [])
        // The server accepts the mail again.
        #expect(try session.bring(intent(), content) == nil)
        #expect(try acknowledged(session.outcomes()).code == .committed)
        #expect(try ledger.waiting(for: "bob") == (1, 7))
    }

    @Test func itCountsForItsSendersQuotaAsLongAsItWaits() throws {
        var options = AccessOptions()
        options.quota = 10 + QuotaPrice.mail("photos/a.png", note: 0)
        let session = fixture.session(of: "alice", options)
        _ = try session.bring(intent(), content)
        _ = try acknowledged(session.outcomes())
        #expect(throws: Failure.self) { _ = try session.bring(intent(2), content) }
        let ended = try #require(
            try fixture.intake.mailroom?.settle([intent().id], by: "bob", as: .declined).ended)
        fixture.intake.mail.free(ended.freed)
        #expect(try session.bring(intent(3), content) == nil)
        _ = try acknowledged(session.outcomes())
    }

    @Test func aClientWithAFolderNamesThingsAsItKnowsThem() throws {
        var options = AccessOptions()
        options.folder = try RelativePath("camera")
        let session = fixture.session(of: "alice", options)
        _ = try session.bring(intent(), content)
        #expect(try acknowledged(session.outcomes()).path.string == "camera/photos/a.png")
        #expect(try ledger.inbox(of: "bob", after: 0, limit: 1).map(\.mail.name) == ["photos/a.png"])
    }
}

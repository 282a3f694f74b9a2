import TransferDatabase
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferLedger
@testable import TransferMail

/// A ledger in a new directory.
final class LedgerFixture: Sendable {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    var path: String { directory.path(MailLedger.fileName) }

    static let limits = MailLimits(count: 8, bytes: 1000)
    static let digest = Digest(.xxh128, Array(0..<16))

    /// What the ledger's clock goes by.
    let clock = Locked<Int64>(1_000_000)

    func open(
        _ calls: DatabaseCalls = DatabaseCalls(), mustExist: Bool = false
    ) throws(RecordsError) -> MailLedger {
        try MailLedger(path: path, isDurable: true, mustExist: mustExist, calls: calls) { [self] in
            clock.withLock(\.self)
        }
    }

    /// Changes what is in the file behind the ledger's back.
    func execute(_ sql: String) throws { try Database(path: path, called: "ledger").execute(sql) }

    static func id(_ number: UInt64) -> UploadID { UploadID(high: 7, low: number) }

    static func mail(_ number: UInt64, from sender: String = "alice", size: UInt64 = 5, at moment: Int64 = 100) -> Mail
    {
        Mail(
            id: id(number), sender: sender, client: 9, name: "photos/\(number).png", kind: .picture, size: size,
            digest: digest, modified: Timestamp(seconds: -3, nanoseconds: 7), permissions: 0o640, note: [1, 2],
            path: .mail(id(number)), queued: moment)
    }
}

extension MailLedger {
    /// Queues one mail whose content is there.
    @discardableResult
    func queue(
        _ mail: Mail, to recipients: [String], _ limits: MailLimits = LedgerFixture.limits, isThere: Bool = true
    ) throws(RecordsError) -> QueuedMail {
        try queue([(mail, recipients)], limits, isThere: { _ in isThere })[0]
    }

    func states(_ number: UInt64) throws(RecordsError) -> [String] {
        try deliveries(of: LedgerFixture.id(number)).map { "\($0.recipient) \($0.state)" }
    }
}

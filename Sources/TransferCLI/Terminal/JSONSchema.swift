internal import TransferModel

/// The names and versions of the objects that the program prints, by which a reader knows whether it understands them.
/// Members may be added without a new version. docs/reference/json.md describes the objects.
enum JSONSchema {
    static let upload = UploadDocument.schema
    static let failure = "transfer.failure/1"
    static let plan = "transfer.plan/1"
    static let progress = "transfer.progress/1"
    static let finding = "transfer.finding/2"
    static let scrub = "transfer.scrub/2"
    static let rebuildFinding = "transfer.rebuild-finding/1"
    static let rebuild = "transfer.rebuild/1"
    static let entry = EntryDocument.schema
    static let download = "transfer.download/1"
    static let change = ChangeDocument.schema
    static let trashed = "transfer.trashed/1"
    static let usage = "transfer.usage/1"
    static let unlisted = "transfer.unlisted/1"
    static let syncChange = "transfer.sync-change/1"
    static let syncSummary = "transfer.sync/2"
    static let removal = "transfer.removal/1"
    static let remote = "transfer.remote/1"
    static let access = "transfer.access/2"
    static let issued = "transfer.issued/2"
    static let trust = "transfer.trust/1"
    static let key = "transfer.key/2"
    static let receiptFinding = "transfer.receipt-finding/1"
    static let receiptCheck = "transfer.receipt-check/1"
    static let server = "transfer.server/2"
    static let identity = "transfer.identity/1"
    static let person = "transfer.person/2"
    static let delivery = "transfer.delivery/2"
    static let received = "transfer.received/2"
    static let setting = "transfer.setting/1"
}

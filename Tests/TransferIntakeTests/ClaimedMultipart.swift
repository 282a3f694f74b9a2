import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferIntake

/// An upload in parts in a separate store. Tests claim its bytes without a session.
struct ClaimedMultipart {
    let store: FileStore
    let multipart: MultipartUpload
    private let directory: TemporaryDirectory

    init(total: UInt64) throws {
        directory = try TemporaryDirectory()
        store = try FileStore(path: directory.path("store"), durability: .none)
        multipart = MultipartUpload(id: .random(), total: total, function: .xxh128, started: 0)
    }

    func claim(_ range: Range<UInt64>, connection: Int) throws(Failure) -> PartClaim {
        try multipart.claim(range, connection: connection, run: nil) { () throws(Failure) in
            try store.resume(id: multipart.id, size: nil)
        }
    }
}

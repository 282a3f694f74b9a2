import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferIntake

/// An upload in parts whose bytes are claimed without a session, in a store of its own.
struct ClaimedAssembly {
    let store: FileStore
    let assembly: Assembly
    private let directory: TemporaryDirectory

    init(total: UInt64) throws {
        directory = try TemporaryDirectory()
        store = try FileStore(path: directory.path("store"), durability: .none)
        assembly = Assembly(id: .random(), total: total, function: .xxh128, started: 0)
    }

    func claim(_ range: Range<UInt64>, connection: Int) throws(StoreError) -> PartClaim {
        try assembly.claim(range, connection: connection, run: nil) { () throws(StoreError) in
            try store.resume(id: assembly.id, size: nil)
        }
    }
}

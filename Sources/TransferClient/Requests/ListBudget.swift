import Glibc
import TransferModel
import TransferProtocol

/// Bounds the memory that a list takes on the client: a server can list more entries than it stores.
package struct ListBudget: Sendable {
    /// Bytes: half of the machine's memory, because other programs run there too, and 8 GiB at most. A tree of ten
    /// million entries takes about 6 GiB: `entryBytes` and the bytes of the path for each entry.
    package static let mostBytes = min(8 << 30, memory / 2)

    /// Bytes of memory that the machine has (sysconf(3)); 1 GiB if it does not say.
    private static let memory: UInt64 = {
        let (pages, size) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
        guard pages > 0, size > 0 else { return 1 << 30 }
        let (bytes, isOver) = UInt64(pages).multipliedReportingOverflow(by: UInt64(size))
        return isOver ? .max : bytes
    }()

    /// Bytes for an entry beside its texts, as measured for a sync (docs/design/sync.md). A list takes less.
    static let entryBytes: UInt64 = 512

    /// Bytes for a name that is only remembered as received.
    static let nameBytes: UInt64 = 48

    private let most: UInt64
    private(set) var held: UInt64 = 0

    init(_ most: UInt64 = mostBytes) {
        self.most = most
    }

    /// Counts bytes that are held from now on.
    ///
    /// - Throws: `rejected(.incomplete)` if the budget is exceeded.
    package mutating func hold(_ bytes: UInt64) throws(TransferFailure) {
        held = held.addingClamped(bytes)
        guard held <= most else {
            throw TransferFailure(reason: .rejected(.incomplete), message: Self.message(most))
        }
    }

    /// Counts bytes that are held from now on, if there is room for them.
    ///
    /// - Returns: whether there was room.
    mutating func holds(_ bytes: UInt64) -> Bool {
        guard held.addingClamped(bytes) <= most else { return false }
        held += bytes
        return true
    }

    package mutating func hold(_ entry: RemoteEntry) throws(TransferFailure) {
        try hold(Self.bytes(path: entry.path.utf8.count, entry.extras))
    }

    mutating func release(_ bytes: UInt64) { held -= min(held, bytes) }

    /// Number of entries that fit, not counting their texts.
    static func entries(in bytes: UInt64) -> Int { Int(clamping: bytes / entryBytes) }

    /// Tells people why a list ends early, and what to do.
    static func message(_ most: UInt64) -> String {
        "The server lists more than this program holds in memory (\(entries(in: most)) entries at most). Name the folders in it "
            + "one by one."
    }
}

extension ListBudget {
    /// About as many bytes as an entry takes in memory, including what the client makes of it.
    ///
    /// - Parameter path: length of the entry's path in bytes.
    static func bytes(path: Int, _ extras: ListedEntry.Extras?) -> UInt64 {
        let attributes = extras?.attributes.extended ?? []
        let texts = attributes.reduce(path) { $0 + $1.name.count + $1.value.count + 64 }
        return entryBytes + UInt64(texts + (extras?.target.count ?? 0))
    }
}

extension TransferClient {
    /// A fresh budget for the memory that one list takes.
    package var listBudget: ListBudget { ListBudget(requestContext.configuration.listMemory) }

    /// Collects a whole list, or as much as the budget allows.
    ///
    /// - Returns: the entries that arrived, and the reason why some are missing; nil if the list is complete.
    package func collect(
        _ entries: RequestEvents<RemoteEntry>
    ) async -> (entries: [RemoteEntry], failure: TransferFailure?) {
        var (all, budget): ([RemoteEntry], ListBudget) = ([], listBudget)
        do throws(TransferFailure) {
            for try await entry in entries {
                try budget.hold(entry)
                all.append(entry)
            }
            return (all, nil)
        } catch {
            return (all, error)
        }
    }
}

import Glibc
import TransferModel
import TransferProtocol

/// Bounds what of a list a client holds in memory: what a server lists need not be on any disk.
package struct ListBudget: Sendable {
    /// Bytes: half of the machine's memory, because other programs run there too, and 8 GiB at most. A tree of ten million entries takes
    /// about 6 GiB: each entry takes `entryBytes` and the bytes of its path.
    package static let mostBytes = min(8 << 30, memory / 2)

    /// Bytes that the machine has (sysconf(3)); 1 GiB where it does not say.
    private static let memory: UInt64 = {
        let (pages, size) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
        guard pages > 0, size > 0 else { return 1 << 30 }
        let (bytes, isOver) = UInt64(pages).multipliedReportingOverflow(by: UInt64(size))
        return isOver ? .max : bytes
    }()

    /// Bytes that an entry takes beside its texts: what a sync needs for each, as it was measured (docs/design/sync.md). A list
    /// takes less.
    static let entryBytes: UInt64 = 512

    /// Bytes that a name takes that is only remembered to have come.
    static let nameBytes: UInt64 = 48

    private let most: UInt64
    private(set) var held: UInt64 = 0

    init(_ most: UInt64 = mostBytes) {
        self.most = most
    }

    /// Counts something that is held from now on.
    ///
    /// - Throws: `rejected(.incomplete)` when it is too much.
    package mutating func hold(_ bytes: UInt64) throws(TransferFailure) {
        held = held.addingClamped(bytes)
        guard held <= most else {
            throw TransferFailure(reason: .rejected(.incomplete), message: Self.message(most))
        }
    }

    /// Counts something that is held from now on, if there is room for it.
    ///
    /// - Returns: whether there is.
    mutating func holds(_ bytes: UInt64) -> Bool {
        guard held.addingClamped(bytes) <= most else { return false }
        held += bytes
        return true
    }

    package mutating func hold(_ entry: RemoteEntry) throws(TransferFailure) {
        try hold(Self.bytes(path: entry.path.utf8.count, entry.extras))
    }

    mutating func release(_ bytes: UInt64) { held -= min(held, bytes) }

    /// Entries that fit, whatever they are called.
    static func entries(in bytes: UInt64) -> Int { Int(clamping: bytes / entryBytes) }

    /// Why a list ends early, and what to do.
    static func message(_ most: UInt64) -> String {
        "The server lists more than this program holds in memory (\(entries(in: most)) entries at most). Name the folders in it "
            + "one by one."
    }
}

extension ListBudget {
    /// About as much memory as an entry takes, with what else is made of it.
    ///
    /// - Parameter path: bytes of its path.
    static func bytes(path: Int, _ extras: ListedEntry.Extras?) -> UInt64 {
        let attributes = extras?.attributes.extended ?? []
        let texts = attributes.reduce(path) { $0 + $1.name.count + $1.value.count + 64 }
        return entryBytes + UInt64(texts + (extras?.target.count ?? 0))
    }
}

extension TransferClient {
    /// For what is made of a list.
    package var listBudget: ListBudget { ListBudget(requestContext.configuration.listMemory) }

    /// Takes all of a list, as far as it can be held.
    ///
    /// - Returns: what came, and why it is not all.
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

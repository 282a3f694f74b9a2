import Synchronization
import TransferIO
import TransferModel
import TransferPorts
import TransferStore

/// Scans a tree on this machine and one on a server at the same time. When one scan fails, the other one is stopped.
struct BothScans<Here: Sendable>: Sendable {
    typealias Server = (tree: SyncTree, keepsOwners: Bool, comparesUploads: Bool)

    /// A scan calls it now and then, and ends if it returns true because the result is no longer needed.
    typealias Stop = @Sendable () -> Bool

    private enum Side: Sendable {
        case here(Here)
        case server(Server)
        case failed(TransferFailure)
    }

    let remote: RemoteScan
    let pool: BlockingPool
    /// Scans the tree on this machine, on the pool.
    let local: @Sendable (_ isStopped: @escaping Stop) throws(Failure) -> Here

    func run() async throws(TransferFailure) -> (here: Here, server: Server) {
        let found = await withTaskGroup(of: Side.self) {
            group -> Result<(here: Here, server: Server), TransferFailure> in
            group.addTask { await lookHere() }
            group.addTask { await lookThere() }
            var (here, server): (Here?, Server?)
            var first: TransferFailure?
            for await side in group {
                switch side {
                case .here(let found): here = found
                case .server(let found): server = found
                case .failed(let failure):
                    first = first ?? failure
                    group.cancelAll()
                }
            }
            guard let here, let server else { return .failure(first ?? .stopped) }
            return .success((here, server))
        }
        return try found.get()
    }

    private func lookHere() async -> Side {
        let stop = StopFlag()
        let found = await withTaskCancellationHandler {
            await pool.run { [local] in Result { () throws(Failure) in try local { stop.isSet } } }
        } onCancel: {
            stop.set()
        }
        switch found {
        case .success(let here): return .here(here)
        case .failure(let error) where error.code == .aborted: return .failed(.stopped)
        case .failure(let error):
            return .failed(TransferFailure(reason: .rejected(error.code), message: error.message))
        }
    }

    private func lookThere() async -> Side {
        do throws(TransferFailure) { return .server(try await remote.run()) } catch { return .failed(error) }
    }
}

private final class StopFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }
}

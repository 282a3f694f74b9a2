import TransferModel
import TransferObjects
import TransferSystem

/// Stores the content of small files in packs: objects that have the content of many files. Safe to use from any thread.
///
/// A few packs are under way at a time. Files that arrive meanwhile go into the next pack together, so packs become
/// larger when there is more to do, and a file that is alone does not wait for others.
final class PackWriter: Sendable {
    /// The content of one file, to be stored.
    struct Piece: Sendable {
        let bytes: [UInt8]
    }

    /// Where the content of a file was stored.
    struct Place: Sendable {
        let object: ObjectRow
        let start: UInt64
    }

    /// What one caller waits for.
    private final class Order: Sendable {
        let pieces: [Piece]
        let places: Locked<[Result<Place, Failure>?]>

        init(_ pieces: [Piece]) {
            self.pieces = pieces
            places = Locked([Result<Place, Failure>?](repeating: nil, count: pieces.count))
        }
    }

    private struct State {
        /// Pieces that no pack has yet.
        var waiting: [(order: Order, index: Int)] = []
        /// Packs that are being stored.
        var underWay = 0
    }

    /// The most packs that are stored at a time: with four, a bucket that takes 100 ms for a PUT takes 40 packs a
    /// second, which is more than the database does with their files.
    static let packsAtOnce = 4

    /// Where a pack ends: at 8 MiB, which took as long as four packs of 2 MiB when both were measured, or 4,096 files.
    static let most = (bytes: 8 << 20, files: 4096)

    private let objects: ClusterObjects
    private let state = Monitor(State())

    init(_ objects: ClusterObjects) { self.objects = objects }

    /// Stores the content of files. When this returns, the bucket has acknowledged all that has a place.
    func store(_ pieces: [Piece]) -> [Result<Place, Failure>] {
        guard !pieces.isEmpty else { return [] }
        let order = Order(pieces)
        state.withLock { state.state.waiting += pieces.indices.map { (order, $0) } }
        while true {
            switch next(for: order) {
            case .done: return order.places.withLock { $0.map { $0 ?? .failure(.unplaced) } }
            case .pack(let pack):
                store(pack)
                state.withLock {
                    state.state.underWay -= 1
                    state.wakeAll()
                }
            }
        }
    }

    private enum Step {
        case pack([(order: Order, index: Int)])
        case done
    }

    /// Waits until all pieces of an order have places, or there is a pack to store.
    private func next(for order: Order) -> Step {
        state.withLock {
            while true {
                if order.places.withLock({ $0.allSatisfy { $0 != nil } }) { return .done }
                if !state.state.waiting.isEmpty, state.state.underWay < Self.packsAtOnce {
                    state.state.underWay += 1
                    return .pack(takePack())
                }
                state.wait()
            }
        }
    }

    /// Takes the next pieces. The caller has the lock.
    private func takePack() -> [(order: Order, index: Int)] {
        var (count, bytes) = (0, 0)
        for (order, index) in state.state.waiting.prefix(Self.most.files) {
            let size = order.pieces[index].bytes.count
            if count > 0, bytes + size > Self.most.bytes { break }
            count += 1
            bytes += size
        }
        let pack = Array(state.state.waiting.prefix(count))
        state.state.waiting.removeFirst(count)
        return pack
    }

    private func store(_ pack: [(order: Order, index: Int)]) {
        let result = Result { () throws(Failure) -> (ObjectNumber, UInt64) in
            let content: ObjectContent
            do throws(ObjectError) { content = try ObjectContent(pack.map { $0.order.pieces[$0.index].bytes }) } catch {
                throw Failure(object: error)
            }
            return (try objects.put(content), content.size)
        }
        var start: UInt64 = 0
        for (order, index) in pack {
            let size = UInt64(order.pieces[index].bytes.count)
            let place = result.map { Place(object: ObjectRow($0.0, size: $0.1, live: size), start: start) }
            order.places.withLock { $0[index] = place }
            start += size
        }
    }
}

extension Failure {
    fileprivate static let unplaced = Failure(
        .storageFailed, "The server has lost track of content that it was to store.")
}

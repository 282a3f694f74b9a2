import TransferModel
import TransferObjects
import TransferSystem

/// Stores the content of small files in packs: objects that have the content of many files, and describe the files
/// (`ObjectFooter`). Safe to use from any thread.
///
/// A few packs are under way at a time. Files that arrive meanwhile go into the next pack together, so packs become
/// larger when there is more to do, and a file that is alone does not wait for others.
final class PackWriter: Sendable {
    /// A file to be described, and bytes to be stored for it: the whole content, the last bytes, or none.
    struct Piece: Sendable {
        let bytes: [UInt8]

        /// The place of the bytes in the file.
        let range: Range<UInt64>

        /// The file with the extents that are in other objects.
        let file: DescribedFile

        /// The file with all its extents.
        ///
        /// - Parameter start: where the bytes are in the object.
        func described(at start: UInt64) -> DescribedFile {
            var file = file
            if !range.isEmpty { file.extents.append(Extent(range, in: .none, from: start)) }
            file.extents.sort { $0.range.lowerBound < $1.range.lowerBound }
            return file
        }

        /// Bytes of the object that count as live for the file.
        var live: UInt64 {
            // Trap: a piece has at most `ClusterStaged.segment` bytes.
            UInt64(bytes.count) + (!range.isEmpty && range == 0..<file.size ? 0 : 1)
        }

        var mostBytes: Int { bytes.count + file.mostBytes }
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
            let size = order.pieces[index].mostBytes
            if count > 0, bytes + size > Self.most.bytes { break }
            count += 1
            bytes += size
        }
        let pack = Array(state.state.waiting.prefix(count))
        state.state.waiting.removeFirst(count)
        return pack
    }

    private func store(_ pack: [(order: Order, index: Int)]) {
        let pieces = pack.map { $0.order.pieces[$0.index] }
        var footer = ObjectFooter()
        var starts: [UInt64] = []
        var (start, live): (UInt64, UInt64) = (0, 0)
        for piece in pieces {
            footer.files.append(piece.described(at: start))
            starts.append(start)
            start += UInt64(piece.bytes.count)
            live += piece.live
        }
        let result = Result { () throws(Failure) -> ObjectNumber in
            try objects.put(pieces.map(\.bytes), footer)
        }
        for (((order, index), piece), start) in zip(zip(pack, pieces), starts) {
            let place = result.map { Place(object: ObjectRow($0, size: live, live: piece.live), start: start) }
            order.places.withLock { $0[index] = place }
        }
    }
}

extension Failure {
    fileprivate static let unplaced = Failure(
        .storageFailed, "The server has lost track of content that it was to store.")
}

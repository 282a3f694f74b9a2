import TransferModel
import TransferObjects
import TransferPorts
import TransferSystem

/// What a bucket contains, read from the objects' footers alone.
struct BucketSurvey: Sendable {
    /// An object with the bytes in front of the footer.
    struct Found: Sendable {
        let key: ObjectKey
        let size: UInt64
        /// Nil for an object without a footer that this program knows.
        var content: UInt64?
        /// The live bytes of the object if all files are there that it was made for.
        var live: UInt64 = 0
    }

    /// A described file whose bytes are all there. `ObjectNumber.none` is replaced by the object.
    struct File: Sendable {
        var described: DescribedFile
        /// The object that has the description.
        let object: ObjectNumber
        /// The place of the description among those of the object.
        let index: Int
    }

    private(set) var epochs: [UInt64: EpochRow] = [:]
    private(set) var objects: [ObjectNumber: Found] = [:]
    /// Files in the order in which they were published, each once.
    private(set) var files: [File] = []
    /// Files that are described more than once.
    private(set) var repeated = 0
    /// Files whose bytes are not all there: they were removed.
    private(set) var gone = 0
    /// Keys of objects whose names or footers this program does not know.
    private(set) var unknown: [ObjectKey] = []
    private var moved: [ObjectNumber: [(start: UInt64, object: ObjectNumber, place: Range<UInt64>)]] = [:]

    /// Objects that one listing returns.
    private static let page = 1000

    /// Threads that read footers: a request waits some 50 ms for the bucket and takes little of the processor.
    private static let threads = 16

    /// Lists all objects and reads their footers.
    ///
    /// - Parameter progress: called with the number of objects that were read so far.
    /// - Throws: if the bucket cannot be read. An object that vanishes meanwhile is no error.
    init(_ bucket: any ObjectStore, progress: (Int) -> Void) throws(Failure) {
        var found: [File] = []
        var last: ObjectKey?
        while true {
            let page: ObjectPage
            do throws(ObjectError) {
                page = try bucket.list(EpochRow.keyPrefix, after: last, limit: Self.page)
            } catch {
                throw Failure(object: error)
            }
            try read(page.objects, in: bucket, into: &found)
            progress(objects.count)
            guard !page.isLast, let end = page.objects.last?.key else { break }
            last = end
        }
        for number in moved.keys { moved[number]?.sort { $0.start < $1.start } }
        complete(found)
    }

    /// Reads the footers of a page of objects.
    private mutating func read(
        _ page: [ListedObject], in bucket: any ObjectStore, into found: inout [File]
    ) throws(Failure) {
        let footers = Locked(
            [Result<(footer: ObjectFooter, content: UInt64)?, ObjectError>?](repeating: nil, count: page.count))
        inParallel(on: Self.threads, page.count) { index in
            let result = Result { () throws(ObjectError) in
                try ObjectFooter.read(page[index].key, size: page[index].size, in: bucket)
            }
            footers.withLock { $0[index] = result }
        }
        for (listed, result) in zip(page, footers.withLock { $0 }) {
            guard let number = note(listed) else {
                unknown.append(listed.key)
                continue
            }
            switch result {
            case .success(let (footer, content)?):
                objects[number]?.content = content
                add(footer, content, of: number, to: &found)
            case .success(nil): unknown.append(listed.key)
            case .failure(let error) where error.reason == .notFound: objects[number] = nil
            case .failure(let error) where error.reason == .damaged: unknown.append(listed.key)
            case .failure(let error): throw Failure(object: error)
            case nil: throw Failure(.storageFailed, "The footer of \(listed.key) was not read.")
            }
        }
    }

    /// Notes an object by its key.
    ///
    /// - Returns: nil for a key that no server makes, or that contradicts another one.
    private mutating func note(_ listed: ListedObject) -> ObjectNumber? {
        let text = listed.key.text
        guard let number = ObjectNumber(key: text), LedgerNumber.isStorable(number.rawValue), number.epoch > 0,
            let slash = text.utf8.lastIndex(of: UInt8(ascii: "/"))
        else { return nil }
        let epoch = EpochRow(
            number: number.epoch, key: String(text[..<slash]), server: "", opened: 0, state: .swept)
        let known = epochs[number.epoch] ?? epoch
        guard known.key.hasSameBytes(as: epoch.key), number.key(in: epoch).hasSameBytes(as: text) else { return nil }
        epochs[number.epoch] = known
        objects[number] = Found(key: listed.key, size: listed.size)
        return number
    }

    private mutating func add(
        _ footer: ObjectFooter, _ content: UInt64, of number: ObjectNumber, to found: inout [File]
    ) {
        for bytes in footer.moved { moved[bytes.from, default: []].append((bytes.start, number, bytes.place)) }
        var live = content
        for (index, described) in footer.files.enumerated() {
            if !described.isWhole(in: .none) { live = live.addingClamped(1) }
            var file = described
            file.extents = described.extents.map { extent in
                extent.object == .none ? Extent(extent.range, in: number, from: extent.start) : extent
            }
            found.append(File(described: file, object: number, index: index))
        }
        objects[number]?.live = live
    }

    // MARK: Files

    /// Finds the bytes of the described files, and puts the files in their order.
    private mutating func complete(_ found: [File]) {
        struct Upload: Hashable {
            let id: UploadID
            let path: PathKey
            let digest: Digest
        }
        var seen: Set<Upload> = []
        for var file in found.sorted(by: Self.isEarlier) {
            guard let extents = present(file.described.extents) else {
                gone += 1
                continue
            }
            let described = file.described
            guard
                seen.insert(Upload(id: described.id, path: PathKey(described.path), digest: described.digest)).inserted
            else {
                repeated += 1
                continue
            }
            file.described.extents = extents
            files.append(file)
        }
    }

    private static func isEarlier(_ a: File, _ b: File) -> Bool {
        (a.described.moment, a.object, a.index) < (b.described.moment, b.object, b.index)
    }

    /// Where bytes are by now; nil if some of them are nowhere.
    private func present(_ extents: [Extent]) -> [Extent]? {
        var found: [Extent] = []
        for extent in extents {
            if isThere(extent) {
                found.append(extent)
                continue
            }
            guard let pieces = pieces(of: extent) else { return nil }
            found += pieces
        }
        return found
    }

    private func isThere(_ extent: Extent) -> Bool {
        guard let object = objects[extent.object] else { return false }
        let content = object.content ?? object.size
        return extent.start <= content && extent.count <= content - extent.start
    }

    /// The pieces of an extent whose object was rewritten; nil if some bytes were not moved.
    private func pieces(of extent: Extent) -> [Extent]? {
        var pieces: [Extent] = []
        var (start, end) = (extent.start, extent.range.lowerBound)
        for bytes in moved[extent.object] ?? [] where end < extent.range.upperBound {
            let count = bytes.place.upperBound - bytes.place.lowerBound
            guard bytes.start <= start, start - bytes.start < count else { continue }
            let taken = min(count - (start - bytes.start), extent.range.upperBound - end)
            let piece = Extent(
                end..<end + taken, in: bytes.object, from: bytes.place.lowerBound + (start - bytes.start))
            guard isThere(piece) else { continue }
            pieces.append(piece)
            (start, end) = (start + taken, end + taken)
        }
        return end == extent.range.upperBound ? pieces : nil
    }
}

extension DescribedFile {
    /// Whether all bytes, and not none, are in one object.
    func isWhole(in object: ObjectNumber) -> Bool {
        size > 0 && extents.count == 1 && extents[0].object == object && extents[0].range == 0..<size
    }
}

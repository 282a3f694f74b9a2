import TransferCodec
package import TransferModel
package import TransferObjects
import TransferPorts
import TransferSystem

/// A file whose bytes are all in one object, as `ClusterLedger.placed` returns it.
package struct PlacedFile: Equatable, Sendable {
    /// Where the file begins. Copies begin at the same place, and differ in their numbers.
    package struct Place: Equatable, Comparable, Sendable {
        package let object: ObjectNumber
        package let start: UInt64
        /// The number of the file.
        package let number: UInt64

        package init(_ object: ObjectNumber, _ start: UInt64, _ number: UInt64) {
            (self.object, self.start, self.number) = (object, start, number)
        }

        package static func < (a: Self, b: Self) -> Bool {
            (a.object, a.start, a.number) < (b.object, b.start, b.number)
        }
    }

    package let place: Place
    package let size: UInt64
    package let digest: Digest
    package let isRotten: Bool

    package init(_ place: Place, size: UInt64, digest: Digest, isRotten: Bool) {
        (self.place, self.size, self.digest, self.isRotten) = (place, size, digest, isRotten)
    }

    /// The place of the bytes in the object.
    var range: Range<UInt64> { place.start..<place.start.addingClamped(size) }
}

/// Reads the content of all files of a cluster, and compares it with the digests in their rows.
///
/// Files in packs are read object by object, with one request for many files; other files are read one by one, in ranges
/// of some megabytes. What seems to be damaged is read again on its own before it is reported, because servers can
/// remove and move files meanwhile. Damaged files are marked in their rows (`ClusterLedger.mark`), and the marks of files
/// that are whole are removed.
package final class ContentScrub: Sendable {
    /// What is wrong with a file.
    package enum Damage: Equatable, Sendable {
        /// The content has this digest.
        case otherContent(Digest)
        /// An object of the file is not in the bucket.
        case missing(String)
        /// An object of the file is shorter than it should be.
        case unreadable(String)
    }

    package struct Finding: Equatable, Sendable {
        package let path: String
        package let size: UInt64
        package let recorded: Digest
        package let damage: Damage
    }

    /// Files, and the sum of their bytes.
    package struct Count: Equatable, Sendable {
        package var files = 0
        package var bytes: UInt64 = 0

        fileprivate mutating func add(_ size: UInt64) {
            files += 1
            bytes = bytes.addingClamped(size)
        }
    }

    private struct State {
        var intact = Count()
        var checked = Count()
        /// Files to be read on their own.
        var suspects: [UInt64] = []
        /// Files that are whole although they are marked.
        var healed: [UInt64] = []
        var failure: Failure?
    }

    /// Bytes that one request reads.
    private static let window = UInt64(PackWriter.most.bytes)

    /// Bytes between two files that are read to spare a request.
    private static let gap: UInt64 = 64 << 10

    /// Threads that read: each has `window` bytes, and mostly waits for the bucket.
    private static let threads = 4

    /// Files that one query returns. The query for files in packs reads and sorts all of them each time, so it returns many, of which
    /// each takes some 100 bytes.
    private static let pages = (placed: 1 << 17, others: 1000)

    private let bucket: any ObjectStore
    private let ledger: any ClusterLedger
    private let store: ClusterStore
    private let report: @Sendable (Finding) -> Void
    private let state = Locked(State())

    /// - Parameter report: called with each finding, by one thread at a time.
    package init(
        _ bucket: any ObjectStore, _ ledger: any ClusterLedger, report: @escaping @Sendable (Finding) -> Void
    ) throws(Failure) {
        let scratch: ScratchSpace
        do throws(SystemError) { scratch = try ScratchSpace(path: nil) } catch {
            throw Failure(.storageFailed, "\(error)")
        }
        (self.bucket, self.ledger, self.report) = (bucket, ledger, report)
        store = try ClusterStore(bucket, ledger, scratch: scratch, ClusterStore.Configuration(server: "verify"))
    }

    /// Files that were checked so far, and bytes that were read; may be read by any thread.
    package var progress: Count { state.withLock { $0.checked } }

    /// Does the whole scrub. To be called once.
    ///
    /// - Returns: the files that have the acknowledged content.
    /// - Throws: an error of the database, or of a bucket that does not answer.
    package func run() throws(Failure) -> Count {
        try readPacks()
        try readOthers()
        return state.withLock { $0.intact }
    }

    // MARK: Packs

    /// Some consecutive bytes of an object, and the files in them.
    private struct Window {
        let object: ObjectNumber
        var range: Range<UInt64>
        var files: [PlacedFile]
    }

    private func readPacks() throws(Failure) {
        var last: PlacedFile.Place?
        while true {
            let page = try store.ask { () throws(LedgerError) in
                try ledger.placed(after: last, limit: Self.pages.placed)
            }
            let windows = windows(page)
            try inEachThread(windows.count) { (index) throws(Failure) in try check(windows[index]) }
            try settle()
            guard page.count == Self.pages.placed, let end = page.last?.place else { return }
            last = end
        }
    }

    /// Puts files that are close together into windows. Files that are longer than a window are read on their own.
    private func windows(_ files: [PlacedFile]) -> [Window] {
        var windows: [Window] = []
        for file in files {
            guard file.size <= Self.window else {
                state.withLock { $0.suspects.append(file.place.number) }
                continue
            }
            if let open = windows.last, open.object == file.place.object,
                file.range.lowerBound <= open.range.upperBound.addingClamped(Self.gap),
                file.range.upperBound - open.range.lowerBound <= Self.window
            {
                let end = max(open.range.upperBound, file.range.upperBound)
                windows[windows.count - 1].range = open.range.lowerBound..<end
                windows[windows.count - 1].files.append(file)
            } else {
                windows.append(Window(object: file.place.object, range: file.range, files: [file]))
            }
        }
        return windows
    }

    private func check(_ window: Window) throws(Failure) {
        // Trap: a window has at most `Self.window` bytes.
        let count = Int(window.range.upperBound - window.range.lowerBound)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { buffer.deallocate() }
        do throws(Failure) {
            try store.objects.read(window.object, from: window.range.lowerBound, into: buffer)
        } catch {
            guard error.code == .contentLost else { throw error }
            return state.withLock { $0.suspects += window.files.map(\.place.number) }
        }
        for file in window.files {
            let start = Int(file.range.lowerBound - window.range.lowerBound)
            let content = UnsafeRawBufferPointer(rebasing: buffer[start..<start + Int(file.size)])
            let isWhole = ContentDigester.digest(file.digest.algorithm.function, content) == file.digest
            state.withLock { state in
                guard isWhole else { return state.suspects.append(file.place.number) }
                state.intact.add(file.size)
                state.checked.add(file.size)
                if file.isRotten { state.healed.append(file.place.number) }
            }
        }
    }

    // MARK: Other files

    /// Reads files with several extents, and counts the empty ones.
    private func readOthers() throws(Failure) {
        var last: UInt64 = 0
        while true {
            let page = try store.ask { () throws(LedgerError) in try ledger.files(after: last, limit: Self.pages.others)
            }
            for node in page {
                guard let file = node.file else { continue }
                state.withLock { state in
                    if file.size == 0 {
                        state.intact.add(0)
                        state.checked.add(0)
                    } else if case .extents = file.content {
                        state.suspects.append(node.number)
                    }
                }
            }
            try settle()
            guard page.count == Self.pages.others, let end = page.last?.number else { return }
            last = end
        }
    }

    /// Reads the collected files one by one, and marks those that are damaged.
    private func settle() throws(Failure) {
        let (suspects, healed) = state.withLock { state in
            defer { (state.suspects, state.healed) = ([], []) }
            return (state.suspects, state.healed)
        }
        try store.ask { () throws(LedgerError) in try ledger.removeMarks(healed) }
        try inEachThread(suspects.count) { (index) throws(Failure) in try examine(suspects[index]) }
    }

    /// Reads a file by its present row.
    private func examine(_ number: UInt64) throws(Failure) {
        for _ in 0..<ClusterStore.mostAttempts {
            guard let node = try node(number), let file = node.file else { return }
            guard let extents = try store.extents(of: node) else { continue }
            guard let damage = try damage(of: node, file, extents) else {
                state.withLock { state in
                    state.intact.add(file.size)
                    state.checked.add(file.size)
                }
                if file.isRotten { try store.ask { () throws(LedgerError) in try ledger.removeMarks([number]) } }
                return
            }
            // The objects of a file that was removed or moved meanwhile may be gone.
            guard try node.touch == self.node(number)?.touch else { continue }
            return try mark(node, file, damage)
        }
        throw Failure(.busy, "A file changes all the time while it is read; try again.")
    }

    private func node(_ number: UInt64) throws(Failure) -> NodeRow? {
        try store.ask { () throws(LedgerError) in try ledger.nodes([number])[0] }
    }

    /// What is wrong with a file; nil if it has the acknowledged content.
    private func damage(of node: NodeRow, _ file: FileRow, _ extents: [Extent]) throws(Failure) -> Damage? {
        let content = ClusterContent(node, file, extents, in: store)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(clamping: max(1, min(file.size, Self.window))), alignment: 16)
        defer { buffer.deallocate() }
        do throws(Failure) {
            let found = try content.reread(file.digest.algorithm.function, through: buffer) { _ in !hasFailed }
            guard let found, found != file.digest else { return nil }
            return .otherContent(found)
        } catch {
            guard error.code == .contentLost else { throw error }
            return try isMissing(extents) ? .missing(error.message) : .unreadable(error.message)
        }
    }

    /// Whether one of the objects of extents is not in the bucket.
    private func isMissing(_ extents: [Extent]) throws(Failure) -> Bool {
        for object in Set(extents.map(\.object)) {
            do throws(Failure) {
                let key = try store.objects.key(of: object)
                do throws(ObjectError) { _ = try bucket.head(key) } catch {
                    if error.reason == .notFound { return true }
                    throw Failure(object: error)
                }
            } catch {
                // The database has lost the epoch of the object.
                guard error.code == .contentLost else { throw error }
                return true
            }
        }
        return false
    }

    private func mark(_ node: NodeRow, _ file: FileRow, _ damage: Damage) throws(Failure) {
        let names = try store.ask { () throws(LedgerError) in
            try ledger.mark(rotten: [node.number])
            return try ledger.paths(of: [node.number])[0]
        }
        guard let names else { return }
        let path = names.map(\.string).joined(separator: "/")
        state.withLock { state in
            state.checked.add(file.size)
            report(Finding(path: path, size: file.size, recorded: file.digest, damage: damage))
        }
    }

    // MARK: Threads

    private var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Calls the body with the indices below a number, by several threads, until one of them fails.
    private func inEachThread(_ count: Int, _ body: @Sendable (Int) throws(Failure) -> Void) throws(Failure) {
        inParallel(on: Self.threads, count) { index in
            guard !hasFailed else { return }
            do throws(Failure) { try body(index) } catch {
                state.withLock { $0.failure = $0.failure ?? error }
            }
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }
}

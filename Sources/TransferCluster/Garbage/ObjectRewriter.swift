import TransferModel
import TransferObjects
import TransferPorts

/// Copies what is used of objects that are mostly dead into new objects. The old ones are deleted later, as all objects
/// without live bytes are.
///
///     look for uses ─► copy the bytes into a new object ─► `ClusterLedger.rewrite` ─► conflict: the new object goes
///
/// The files, readers and other servers see nothing of it but another `touch` of the files.
struct ObjectRewriter {
    /// The most objects of one pass, and the most bytes: a pass takes some seconds, and the sweeper passes again and
    /// again.
    static let most = (objects: 64, bytes: UInt64(64 << 20))

    private let bucket: any ObjectStore
    private let ledger: any ClusterLedger
    private let objects: ClusterObjects
    private let random: @Sendable () -> UInt64

    init(_ bucket: any ObjectStore, _ ledger: any ClusterLedger, _ configuration: ClusterStore.Configuration) {
        (self.bucket, self.ledger, random) = (bucket, ledger, configuration.random)
        let numbers = NodeNumbers(
            ledger, server: configuration.server, monotonic: configuration.monotonic, utc: configuration.utc,
            random: configuration.random)
        objects = ClusterObjects(bucket, ledger, numbers)
    }

    /// An object with all its uses.
    private struct Source {
        let row: ObjectRow
        /// Bytes that are used, in order, without overlaps.
        var ranges = ByteRanges()
        var descriptions: [(size: UInt64, digest: Digest)] = []
        /// The files, with their `touch`.
        var nodes: [UInt64: Int64] = [:]

        var count: UInt64 { ranges.ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }
    }

    /// Rewrites some objects.
    ///
    /// - Returns: the number of objects that are not used any more.
    func run(age: Int64) throws(Failure) -> Int {
        var sources = try find(age: age)[...]
        var rewritten = 0
        while !sources.isEmpty {
            var (group, bytes, files): ([Source], UInt64, Int) = ([], 0, 0)
            while let next = sources.first,
                group.isEmpty
                    || bytes + next.count <= UInt64(PackWriter.most.bytes)
                        && files + next.nodes.count <= PackWriter.most.files
            {
                group.append(next)
                (bytes, files) = (bytes + next.count, files + next.nodes.count)
                sources.removeFirst()
            }
            rewritten += try rewrite(group)
        }
        return rewritten
    }

    /// Objects that can be rewritten. The search begins at a random number, so that objects that can not be rewritten
    /// do not keep others from their turn.
    private func find(age: Int64) throws(Failure) -> [Source] {
        let start = ObjectNumber(rawValue: random() >> 1)
        var rows: [ObjectRow]
        let uses: [ObjectUse]
        do throws(LedgerError) {
            rows = try ledger.sparse(for: age, after: start, limit: Self.most.objects)
            if rows.count < Self.most.objects {
                let others = try ledger.sparse(for: age, after: .none, limit: Self.most.objects - rows.count)
                rows += others.filter { $0.number <= start }
            }
            uses = rows.isEmpty ? [] : try ledger.uses(of: rows.map(\.number))
        } catch {
            throw Failure(ledger: error)
        }
        let found = Dictionary(grouping: uses, by: \.object)
        var sources: [Source] = []
        var bytes: UInt64 = 0
        for row in rows {
            guard let source = Self.source(row, found[row.number] ?? []) else { continue }
            bytes += source.count
            guard sources.isEmpty || bytes <= Self.most.bytes else { break }
            sources.append(source)
        }
        return sources
    }

    /// - Returns: nil for an object with parts of unfinished uploads, which soon become files or go, and for one whose
    ///   uses are not all that it counts, because others have come or gone meanwhile.
    private static func source(_ row: ObjectRow, _ uses: [ObjectUse]) -> Source? {
        var (source, counted) = (Source(row: row), UInt64(0))
        for use in uses {
            switch use.purpose {
            case .part: return nil
            case .content: source.ranges.insert(use.range)
            case .description(let size, let digest): source.descriptions.append((size, digest))
            }
            counted = counted.addingClamped(max(1, use.range.upperBound - use.range.lowerBound))
            source.nodes[use.node] = use.touch
        }
        return counted == row.live && source.count <= UInt64(PackWriter.most.bytes) ? source : nil
    }

    /// What is copied from some objects, to be one object.
    private struct Copy {
        var bytes: [UInt8] = []
        var footer = ObjectFooter()
        var moves: [ObjectRewrite.Move] = []
        /// The bytes and the descriptions that are used, each once.
        var size: UInt64 = 0
        var nodes: [UInt64: Int64] = [:]
        var emptied: [ObjectNumber: UInt64] = [:]
    }

    /// Copies objects into one, and lets the files use it. An object that cannot be read stays as it is: its files are
    /// damaged, which the scrub reports.
    ///
    /// - Returns: the number of objects that are not used any more; 0 if one of them has changed meanwhile.
    private func rewrite(_ group: [Source]) throws(Failure) -> Int {
        var copy = Copy()
        for source in group {
            if let longer = try self.copy(source, behind: copy) { copy = longer }
        }
        guard !copy.emptied.isEmpty else { return 0 }
        let object = try objects.put([copy.bytes], copy.footer)
        let live = copy.emptied.values.reduce(UInt64(0)) { $0.addingClamped($1) }
        let rewrite = ObjectRewrite(
            ObjectRow(object, size: copy.size, live: live), nodes: copy.nodes, copy.moves, emptied: copy.emptied)
        do throws(LedgerError) {
            try ledger.rewrite(rewrite)
            return copy.emptied.count
        } catch {
            // After any other error, files may use the object. If none does, it is deleted with its epoch.
            guard error.reason == .conflict || error.reason == .epochClosed else { throw Failure(ledger: error) }
            try? objects.delete(object)
            return 0
        }
    }

    /// - Returns: the copy with the bytes and descriptions of another object; nil if the object cannot be read.
    private func copy(_ source: Source, behind copy: Copy) throws(Failure) -> Copy? {
        var (copy, own): (Copy, [ObjectRewrite.Move]) = (copy, [])
        let number = source.row.number
        for range in source.ranges.ranges {
            own.append(ObjectRewrite.Move(range, of: number, to: UInt64(copy.bytes.count)))
            guard let content = try read(range, of: number) else { return nil }
            copy.bytes += content
        }
        guard try describe(source, own, in: &copy.footer) else { return nil }
        copy.moves += own
        copy.size += source.count + UInt64(source.descriptions.count)
        copy.nodes.merge(source.nodes) { first, _ in first }
        copy.emptied[number] = source.row.live
        return copy
    }

    /// - Returns: nil if the bytes are not there.
    private func read(_ range: Range<UInt64>, of number: ObjectNumber) throws(Failure) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(clamping: range.upperBound - range.lowerBound))
        do throws(Failure) {
            try bytes.withSpace { (space) throws(Failure) in
                try objects.read(number, from: range.lowerBound, into: space)
            }
            return bytes
        } catch {
            guard error.code == .contentLost else { throw error }
            return nil
        }
    }

    // MARK: Descriptions

    /// Adds what the footer of an object says about files that are still there, and where its bytes are now.
    ///
    /// - Parameter own: the moves of the object.
    /// - Returns: false if the object cannot be read.
    private func describe(
        _ source: Source, _ own: [ObjectRewrite.Move], in footer: inout ObjectFooter
    ) throws(Failure) -> Bool {
        for move in own {
            let place = move.start..<move.start + (move.range.upperBound - move.range.lowerBound)
            footer.moved.append(ObjectFooter.Moved(move.from, from: move.range.lowerBound, to: place))
        }
        let known: ObjectFooter
        switch try self.footer(of: source.row.number) {
        case .missing: return false
        case .none: return true
        case .found(let footer): known = footer
        }
        // Where the bytes were before, for descriptions that still name an older object.
        for bytes in known.moved {
            for move in own {
                let kept = bytes.place.clamped(to: move.range)
                guard !kept.isEmpty else { continue }
                let start = move.start + (kept.lowerBound - move.range.lowerBound)
                footer.moved.append(
                    ObjectFooter.Moved(
                        bytes.from, from: bytes.start + (kept.lowerBound - bytes.place.lowerBound),
                        to: start..<start + (kept.upperBound - kept.lowerBound)))
            }
        }
        for file in known.files {
            if let moved = moved(file, source, own) { footer.files.append(moved) }
        }
        return true
    }

    /// The description of a file with the new places of the bytes; nil if the file is not there any more.
    private func moved(
        _ file: DescribedFile, _ source: Source, _ own: [ObjectRewrite.Move]
    ) -> DescribedFile? {
        var moved = file
        moved.extents = []
        var hasOwn = false
        for extent in file.extents {
            guard extent.object == .none else {
                moved.extents.append(extent)
                continue
            }
            hasOwn = true
            let range = extent.start..<extent.start + extent.count
            let move = own.first { $0.range.clamped(to: range) == range }
            guard let move else { return nil }
            moved.extents.append(
                Extent(extent.range, in: .none, from: move.start + (range.lowerBound - move.range.lowerBound)))
        }
        let isDescribed = source.descriptions.contains { $0.size == file.size && $0.digest == file.digest }
        return hasOwn || isDescribed ? moved : nil
    }

    private enum FoundFooter {
        case found(ObjectFooter)
        /// The object was made without a footer.
        case none
        /// There is no object, or one that cannot be read.
        case missing
    }

    private func footer(of number: ObjectNumber) throws(Failure) -> FoundFooter {
        let key = try objects.key(of: number)
        do throws(ObjectError) {
            let size = try bucket.head(key).size
            guard let found = try ObjectFooter.read(key, size: size, in: bucket) else { return .none }
            return .found(found.footer)
        } catch {
            guard error.reason == .notFound || error.reason == .damaged else { throw Failure(object: error) }
            return .missing
        }
    }
}

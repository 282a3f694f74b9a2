import TransferCluster
import TransferClusterModel
import TransferIntake
import TransferModel
import TransferObjects
import TransferPorts

/// What has happened to the files of a cluster, commit by commit, and the promises that hold for each commit whatever
/// server makes it.
final class ClusterHistory {
    /// A time during which a file had a path, in moments: the commits since the beginning are counted.
    struct Span: Equatable {
        let path: String
        let from: Int
        /// The moment at which the file lost the path; nil while it has the path.
        var to: Int?
    }

    /// A file that was made once.
    struct File: Equatable {
        let content: Int
        var spans: [Span]
        /// Whether a client has moved the file, so that its upload may be stored again.
        var isFree = false
        /// The last change of the file's row, and whether a client has set attributes: a server that has stored the file
        /// does not know that until it asks for the content again.
        var touch: Int64
        var isTouched = false

        /// The present path; nil if the file is gone.
        var path: String? { spans.last.flatMap { $0.to == nil ? $0.path : nil } }
    }

    /// All rows at a moment.
    struct Moment {
        let number: Int
        let rows: ModelRows
    }

    private unowned let world: ClusterWorld
    /// The commits so far.
    private(set) var moment = 0
    private(set) var files: [UInt64: File] = [:]
    /// The last moment that the standby has.
    private(set) var replicated: Moment
    private var moments: [Moment]
    private var rows: ModelRows
    /// The moments at which unfinished uploads were taken over last.
    private var takenOver: [UploadID: Int] = [:]
    /// The first broken promise.
    private(set) var broken: Promises.Broken?

    init(of world: ClusterWorld) {
        self.world = world
        rows = world.database.contents
        replicated = Moment(number: 0, rows: rows)
        moments = [replicated]
    }

    private func fail(_ words: Promises.Words) { broken = broken ?? Promises.Broken(words) }

    // MARK: Commits

    /// Takes note of a commit, which everybody can see by now.
    ///
    /// - Returns: whether it has changed any row that the standby has to have.
    func committed(_ call: ModelLedger.Call, by node: ClusterNode) -> Bool {
        if [.upload, .uploads, .begin].contains(call) { node.lastLook = moment }
        guard call.changes else { return false }
        let before = rows
        rows = world.database.contents
        guard hasChanged(call, before) else { return false }
        moment += 1
        if node.isDead { fail("a dead server has made a commit by \(call)") }
        if call == .rewrite { noteCopies(before) }
        noteUploads(call, before, node)
        noteFiles(node.operation)
        moments.append(Moment(number: moment, rows: rows))
        for fault in rows.check() { fail("after \(call.rawValue): \(fault)") }
        return true
    }

    /// The present moment for the standby; nil if nothing has changed that it would wait for.
    func moment(ifChanged hasChanged: Bool) -> Moment? {
        hasChanged ? Moment(number: moment, rows: rows) : nil
    }

    func replicate(_ moment: Moment) { if moment.number > replicated.number { replicated = moment } }

    /// A transaction that changes no row waits for no standby.
    private func hasChanged(_ call: ModelLedger.Call, _ before: ModelRows) -> Bool {
        switch call {
        case .closeEpochs, .noteSwept, .open: before.epochs != rows.epochs
        case .forget: before.objects != rows.objects
        case .begin, .takeOver, .replace: before.uploads != rows.uploads
        default: true
        }
    }

    private func noteUploads(_ call: ModelLedger.Call, _ before: ModelRows, _ node: ClusterNode) {
        let changed = Set(before.uploads.keys).union(rows.uploads.keys)
            .filter { before.uploads[$0] != rows.uploads[$0] }.sorted { ($0.high, $0.low) < ($1.high, $1.low) }
        for id in changed {
            switch call {
            case .takeOver:
                takenOver[id] = moment
                node.lastLook = moment
            case .replace, .apply:
                // A server that has not looked since another one took the upload over is in an older epoch.
                guard takenOver[id] ?? 0 > node.lastLook else { break }
                fail("a server of an older epoch has changed the upload \(id) by \(call)")
            default: break
            }
            checkParts(of: id)
        }
    }

    private func checkParts(of id: UploadID) {
        guard let upload = rows.uploads[id], let content = world.content(of: id) else { return }
        for part in upload.parts {
            let range = Int(part.part.range.lowerBound)..<Int(part.part.range.upperBound)
            guard range.upperBound <= content.count,
                bytes(part.extents, at: part.part.range, in: rows) == Array(content[range])
            else { return fail("the bytes of a part of \(id) are not in the bucket") }
        }
    }

    /// The bytes of an object that the engine has damaged are damaged in its copy, too.
    private func noteCopies(_ before: ModelRows) {
        for (number, node) in before.nodes {
            guard let old = node.file, let new = rows.nodes[number]?.file,
                extents(of: number, old, in: before).contains(where: { world.rottenObjects.contains($0.object) })
            else { continue }
            world.rottenObjects.formUnion(extents(of: number, new, in: rows).map(\.object))
        }
    }

    private func noteFiles(_ operation: ClusterOperation?) {
        var present: [UInt64: String] = [:]
        for node in rows.nodes.values where node.file != nil {
            present[node.number] = rows.path(of: node)
            if files[node.number].map({ $0.touch != node.touch }) ?? false { files[node.number]?.isTouched = true }
        }
        for (number, file) in files.sorted(by: { $0.key < $1.key }) {
            guard let path = file.path, present[number] != path else { continue }
            if let next = present[number] {
                checkMove(of: file, from: path, to: next, by: operation)
                files[number]?.spans.append(Span(path: next, from: moment))
                files[number]?.isFree = true
            } else {
                checkLoss(of: file, at: path, by: operation)
            }
            let last = file.spans.count - 1
            files[number]?.spans[last].to = moment
        }
        for (number, path) in present.sorted(by: { $0.key < $1.key }) where files[number]?.path == nil {
            guard let row = rows.nodes[number]?.file else { continue }
            made(number, row, at: path, touch: rows.nodes[number]?.touch ?? 0)
        }
    }

    // MARK: Files

    private func made(_ number: UInt64, _ row: FileRow, at path: String, touch: Int64) {
        guard let content = world.content(with: row.digest, size: row.size) else {
            return fail("\(path) got a name, and is no whole upload")
        }
        let isRotten = extents(of: number, row, in: rows).contains { world.rottenObjects.contains($0.object) }
        guard isRotten || bytes(of: number, row, in: rows) == world.contents[content] else {
            return fail("\(path) got a name, and its bytes are not in the bucket")
        }
        for other in files.values.sorted(by: { $0.spans[0].from < $1.spans[0].from })
        where !Medium.isInTrash(path) && other.content == content && other.path != nil && !other.isFree
            && !world.isShared(content)
        {
            fail("content \(content) is stored as \(other.path ?? ""), and as \(path)")
        }
        var file = files[number] ?? File(content: content, spans: [], touch: touch)
        file.spans.append(Span(path: path, from: moment))
        // A later upload of the same batch has taken the path.
        if Medium.isInTrash(path) { file.isFree = true }
        files[number] = file
    }

    private func checkMove(of file: File, from path: String, to next: String, by operation: ClusterOperation?) {
        guard let operation else { return fail("\(path) was moved by nobody") }
        if operation.mayMove(path) { return }
        guard operation.mayReplace(path), Medium.isInTrash(next) else {
            return fail("\(path) was moved to \(next) by \(operation.name), which was not asked for it")
        }
        checkOwner(of: file, at: path, operation)
    }

    private func checkLoss(of file: File, at path: String, by operation: ClusterOperation?) {
        guard let operation else { return fail("\(path) was removed by nobody") }
        if operation.mayMove(path) || path.hasPrefix(".transfer/mail/") { return }
        // A file that was found rotten gives way to its own content.
        if world.knownRot.contains(path) { return }
        guard operation.mayReplace(path) else {
            return fail("\(path) was removed by \(operation.name), which was not asked for it")
        }
        if world.mix.keepsReplaced, !Medium.isInTrash(path) { fail("\(path) has given way, and is not kept") }
        checkOwner(of: file, at: path, operation)
    }

    /// A client without the right to remove replaces no file of another client.
    private func checkOwner(of file: File, at path: String, _ operation: ClusterOperation) {
        guard let caller = operation.caller, !world.callers[caller].mayReplaceAll, !file.isFree,
            !world.isShared(file.content), !world.mayHaveOwner(file.content, caller)
        else { return }
        fail("\(path) of another client gave way to one that may not replace it")
    }

    /// The newest file of a content that had a path at some time since a moment, if a fail-over would not lose it.
    func file(_ content: Int, at path: String, since moment: Int) -> (isThere: Bool, isSafe: Bool) {
        var found = (isThere: false, isSafe: false)
        for file in files.values where file.content == content {
            for span in file.spans where span.path == path && span.to ?? .max > moment {
                found.isThere = true
                if span.from <= replicated.number { found.isSafe = true }
            }
        }
        return found
    }

    /// Whether a file of a content has had a path since a moment all the time, and a fail-over would not lose it.
    func stood(_ content: Int, at path: String, since moment: Int) -> Bool {
        files.values.contains { file in
            file.content == content && !file.isFree && !file.isTouched
                && file.spans.contains { $0.path == path && $0.from <= min(moment, replicated.number) && $0.to == nil }
        }
    }

    /// Whether something was true of the rows at any time since a moment, and a fail-over would not undo it.
    func held(since moment: Int, _ isTrue: (ModelRows) -> Bool) -> Bool {
        let last = replicated.number
        return moments.contains { $0.number >= moment && $0.number <= last && isTrue($0.rows) }
    }

    /// The nodes that a path has had since a moment.
    func numbers(at path: String, since moment: Int) -> Set<UInt64> {
        Set(moments.lazy.filter { $0.number >= moment }.compactMap { $0.rows.node(at: path)?.number })
    }

    /// The contents that a path has had since a moment; nil stands for a time without a file.
    func contents(at path: String, since moment: Int) -> Set<Int?> {
        var (found, covered): (Set<Int?>, [Range<Int>]) = ([], [])
        for file in files.values {
            for span in file.spans where span.path == path && span.to ?? .max > moment {
                found.insert(file.content)
                covered.append(max(moment, span.from)..<(span.to ?? .max))
            }
        }
        var next = moment
        for range in covered.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > next { found.insert(nil) }
            next = max(next, range.upperBound)
        }
        if next < .max { found.insert(nil) }
        return found
    }

    // MARK: Objects

    /// Checks that no file, of this server or of the standby, needs an object that is deleted.
    func deleting(_ key: ObjectKey) {
        guard let number = ObjectNumber(text: key.text) else { return }
        for (rows, who) in [(rows, "the database"), (replicated.rows, "the standby")] {
            guard refers(rows, to: number) else { continue }
            fail("an object is deleted that \(who) refers to")
        }
    }

    private func refers(_ rows: ModelRows, to object: ObjectNumber) -> Bool {
        rows.nodes.values.contains { node in
            guard let file = node.file, file.size > 0 else { return false }
            return extents(of: node.number, file, in: rows).contains { $0.object == object }
        } || rows.uploads.values.contains { $0.parts.contains { $0.extents.contains { $0.object == object } } }
    }

    private func extents(of number: UInt64, _ file: FileRow, in rows: ModelRows) -> [Extent] {
        switch file.content {
        case .whole(let object, let start):
            file.size > 0 ? [Extent(0..<file.size, in: object, from: start)] : []
        case .extents: rows.extents[number] ?? []
        }
    }

    func objects(of number: UInt64) -> [ObjectNumber] {
        guard let file = rows.nodes[number]?.file else { return [] }
        return extents(of: number, file, in: rows).map(\.object)
    }

    private func bytes(of number: UInt64, _ file: FileRow, in rows: ModelRows) -> [UInt8]? {
        bytes(extents(of: number, file, in: rows), at: 0..<file.size, in: rows)
    }

    /// The bytes that extents have in the bucket; nil if any are missing. Holes are zeros.
    private func bytes(_ extents: [Extent], at range: Range<UInt64>, in rows: ModelRows) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
        let bucket = world.bucket.contents
        for extent in extents {
            guard let epoch = rows.epochs[extent.object.epoch],
                let object = ObjectKey("\(epoch.key)/\(String(extent.object.rawValue, radix: 16))")
                    .flatMap({ bucket[$0] }),
                Int(extent.start + extent.count) <= object.count
            else { return nil }
            let piece = object[Int(extent.start)..<Int(extent.start + extent.count)]
            let place = Int(extent.range.lowerBound - range.lowerBound)
            bytes.replaceSubrange(place..<place + piece.count, with: piece)
        }
        return bytes
    }

    /// Checks all files against the bucket.
    func checkContents() {
        for (number, file) in files.sorted(by: { $0.key < $1.key }) {
            guard let path = file.path, let row = rows.nodes[number]?.file,
                !extents(of: number, row, in: rows).contains(where: { world.rottenObjects.contains($0.object) }),
                bytes(of: number, row, in: rows) != world.contents[file.content]
            else { continue }
            fail("the bytes of \(path) are not in the bucket any more")
        }
    }

    // MARK: Fail-over

    /// The standby becomes the database. It does not have the commits whose answers no server has received.
    func failOver() {
        let last = replicated.number
        for (number, var file) in files {
            file.spans.removeAll { $0.from > last }
            for index in file.spans.indices where file.spans[index].to ?? 0 > last { file.spans[index].to = nil }
            files[number] = file.spans.isEmpty ? nil : file
        }
        moment += 1
        rows = replicated.rows
        replicated = Moment(number: moment, rows: rows)
        moments.removeAll { $0.number > last }
        moments.append(replicated)
        takenOver = takenOver.filter { $0.value <= last }
        checkContents()
    }
}

extension ModelRows {
    /// The node at a path; nil if the path is free.
    func node(at path: String) -> NodeRow? { nodes.values.first { self.path(of: $0) == path } }

    /// The path of a node; nil if it is not below the top.
    func path(of node: NodeRow) -> String? {
        var (names, next): ([String], NodeRow?) = ([], node)
        while let node = next, names.count <= nodes.count {
            names.append(node.name.string)
            guard node.folder != NodeRow.top else { return names.reversed().joined(separator: "/") }
            next = nodes[node.folder]
        }
        return nil
    }
}

extension ObjectNumber {
    /// Reads the number from a key, as the sweeper does.
    init?(text: String) {
        guard let last = text.split(separator: "/").last, let number = UInt64(last, radix: 16) else { return nil }
        self.init(rawValue: number)
    }
}

import TransferCluster
import TransferClusterModel
import TransferModel
import TransferPorts
import TransferTestSupport

/// Random calls of a ledger, decided by a seed, over so few names, numbers and IDs that they often meet.
struct LedgerScript {
    /// One call, which can be made on any ledger with the same rows.
    struct Step: Sendable {
        let name: String
        private let body: @Sendable (any ClusterLedger) throws -> String

        init(_ name: String, _ body: @escaping @Sendable (any ClusterLedger) throws -> String) {
            (self.name, self.body) = (name, body)
        }

        /// Makes the call.
        ///
        /// - Returns: the result, or the reason of the error, as text.
        func run(on ledger: any ClusterLedger) throws -> String {
            do { return try body(ledger) } catch let error as LedgerError { return "throws \(error.reason)" }
        }
    }

    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    private mutating func number(_ range: ClosedRange<UInt64>) -> UInt64 { .random(in: range, using: &random) }

    private mutating func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func pick<C: Collection>(_ choices: C) -> C.Element? { choices.randomElement(using: &random) }

    private mutating func id() -> UploadID { UploadID(number(1...6)) }

    // MARK: Calls

    /// The next call, which suits rows that are as in `rows`.
    mutating func next(_ rows: ModelRows) -> Step {
        switch number(0...99) {
        case 0..<50: return change(rows)
        case 50..<62: return upload(rows)
        case 62..<72: return sweep(rows)
        case 72..<76: return mark()
        case 76..<84: return mail()
        default: return look()
        }
    }

    /// The next call that changes the tree, or an upload.
    mutating func change(_ rows: ModelRows) -> Step {
        let changes = changes(rows)
        let mail = happens(15) ? mailChanges() : nil
        return Step("apply \(changes)") { ledger in
            var changes = changes
            changes.mail = try mail.map { try $0(ledger) }
            try ledger.apply(changes)
            return "made"
        }
    }

    private mutating func sweep(_ rows: ModelRows) -> Step {
        let epoch = number(1...5)
        switch number(0...14) {
        case 14:
            return Step("placed") { ledger in
                let first = try ledger.placed(after: nil, limit: 2)
                return "\(first) \(try ledger.placed(after: first.last?.place, limit: 2))"
            }
        case 11: return Step("sparse") { "\(try $0.sparse(for: -1, after: object(3, in: 1), limit: 3))" }
        case 12...13: return rewrite(rows)
        case 10:
            let (isEpoch, object) = (happens(50), object(number(0...9), in: epoch))
            return Step("adopt \(epoch) \(object)") { ledger in
                try ledger.adopt(
                    isEpoch ? [EpochRow(number: epoch, key: "k\(epoch)", server: "é", opened: 0)] : [],
                    [ObjectRow(object, size: 9, live: 0)])
                return "adopted"
            }
        case 0...3:
            return Step("open \(epoch)") { ledger in
                try ledger.open(EpochRow(number: epoch, key: "k\(epoch)", server: "s", opened: 0))
                return "opened"
            }
        case 4:
            return Step("close") { try $0.closeEpochs(olderThan: -1).map { "\($0.number) \($0.state)" }.description }
        case 5:
            return Step("close old") { try $0.closeEpochs(olderThan: 1 << 60).map(\.number).description }
        case 6:
            return Step("swept \(epoch)") { ledger in
                try ledger.noteSwept(epoch)
                return "noted"
            }
        case 7:
            let numbers = (0..<4).map { _ in object(number(0...9), in: number(1...4)) }
            return Step("known \(numbers)") { try $0.known(numbers).map(\.rawValue).sorted().description }
        default:
            return Step("forget") { ledger in
                let unused = try ledger.unused(for: 0, limit: .max)
                try ledger.forget(unused)
                return unused.map(\.rawValue).sorted().description
            }
        }
    }

    /// Moves all content of some objects into a new one, sometimes with a wrong expectation.
    private mutating func rewrite(_ rows: ModelRows) -> Step {
        let old = rows.objects.values.filter { $0.row.live > 0 }.map(\.row.number).sorted().prefix(Int(number(1...3)))
        let (new, isStale, isPartial) = (object(number(10...99), in: number(1...4)), happens(10), happens(10))
        return Step("rewrite \(old) as \(new)") { ledger in
            let uses = try ledger.uses(of: Array(old))
            var nodes: [UInt64: Int64] = [:]
            var moves: [ObjectRewrite.Move] = []
            var emptied: [ObjectNumber: UInt64] = [:]
            for number in old { emptied[number] = rows.objects[number]?.row.live }
            for use in uses { nodes[use.node] = use.touch }
            for (index, number) in old.enumerated() {
                let end = uses.filter { $0.object == number }.map(\.range.upperBound).max() ?? 0
                guard end > 0, !isPartial || index > 0 else { continue }
                moves.append(ObjectRewrite.Move(0..<end, of: number, to: UInt64(index) * 100))
            }
            if isStale, let node = nodes.keys.min() { nodes[node] = -1 }
            let live = emptied.values.reduce(0, +)
            if uses.contains(where: { $0.purpose == .part }) { return "part" }
            try ledger.rewrite(
                ObjectRewrite(ObjectRow(new, size: live, live: live), nodes: nodes, moves, emptied: emptied))
            return uses.map { "\($0)" }.sorted().description
        }
    }

    private mutating func mark() -> Step {
        let numbers = (0..<2).map { _ in number(2...30) }
        switch number(0...3) {
        case 0...1:
            return Step("mark \(numbers)") { ledger in
                try ledger.mark(rotten: numbers)
                return "\(try ledger.hasRotten()) \(try ledger.rotten(numbers).keys.sorted())"
            }
        case 2:
            return Step("remove marks \(numbers)") { ledger in
                try ledger.removeMarks(numbers)
                return "removed"
            }
        default:
            let count = Int64(number(0...3))
            return Step("reserve \(count)") { "\(try $0.reserveReceipts(count))" }
        }
    }

    // MARK: Mail

    /// Changes of mailboxes, which depend on what is in them when they are made.
    private mutating func mailChanges() -> @Sendable (any ClusterLedger) throws -> MailChanges {
        let (id, removed, isStale) = (id(), number(1...8), happens(10))
        let sender = ["p", "q", "é"][Int(number(0...2))]
        let (size, queued, isUnproven, isFull) = (number(0...99), Int64(number(0...9)), happens(50), happens(50))
        let since = Int64(number(0...9))
        let deliveries = (0..<number(0...2)).map { _ in
            DeliveryRow(
                number: number(1...8), id: id, recipient: happens(50) ? "p" : "r",
                state: pick(DeliveryState.allCases) ?? .queued, changed: 3, since: since,
                receipt: happens(30) ? [1] : nil)
        }
        return { ledger in
            var changes = MailChanges(after: try ledger.mailFacts([], []))
            if isStale { changes.revision -= 1 }
            let mail = Mail(
                id: id, sender: sender, client: isFull ? .max : nil, name: "n\0", kind: .audio, size: size,
                digest: sampleDigest(1, .sha256), modified: isFull ? Timestamp(seconds: -1, nanoseconds: 5) : nil,
                permissions: isFull ? 0o600 : nil, note: isFull ? [0, 1] : nil, path: try RelativePath("m/é"),
                queued: queued, isUnproven: isUnproven, isRotten: size < 20)
            changes.mails[id] = MailRow(mail, since: since)
            for row in deliveries { changes.deliveries[row.number] = row }
            changes.removed = [removed]
            return changes
        }
    }

    private mutating func mail() -> Step {
        let (number, limit, isLate, withEnded) = (number(0...8), Int(number(0...4)), happens(30), happens(50))
        let name = ["p", "q", "r", "é"][Int(self.number(0...3))]
        switch self.number(0...11) {
        case 0...3:
            let changes = mailChanges()
            return Step("mail") { ledger in
                try ledger.apply(try changes(ledger))
                return "made"
            }
        case 4:
            // All times of the script are before the one bound, and none is before the other.
            let age: Int64 = isLate ? -1 << 61 : 1 << 61
            return Step("forget mail \(age)") { ledger in
                let overdue = try ledger.overdueMail(for: age, limit: limit)
                try ledger.forgetMail(endedFor: age)
                return "\(overdue)"
            }
        case 5:
            let person = KnownPerson(name: name, sealingKey: withEnded ? [1] : nil, isUnproven: isLate)
            return Step("keep \(person)") { ledger in
                try ledger.keep([person, KnownPerson(name: "z", isUnproven: true), person], at: Int64(number))
                return "kept"
            }
        case 6:
            return Step("forget \(name)") { ledger in
                let idle = try ledger.idlePeople(limit: limit)
                try ledger.forget(people: [name, "x"])
                return "\(idle) \(try ledger.people())"
            }
        case 7:
            let lists = [AccessListRow(name, [7], revision: Int64(limit) / 2), AccessListRow("l", [], revision: 0)]
            return Step("lists \(name)") { ledger in
                try ledger.replace(Array(lists.prefix(isLate ? 2 : 1)))
                return "\(try ledger.accessLists(["l", name, "m"]))"
            }
        case 8:
            let upload = UnfinishedUpload(id: id(), path: name, size: number, begun: Int64(self.number(0...99_999)))
            let other = id()
            return Step("declare \(upload)") { ledger in
                try ledger.declare([upload], forgetting: [other])
                return "\(try ledger.declared())"
            }
        default:
            return Step("mailbox of \(name) from \(number)") { ledger in
                let found: [Any] = [
                    try ledger.waiting(for: isLate ? nil : name),
                    try ledger.inbox(of: name, after: number, limit: limit, withEnded: withEnded),
                    try ledger.sent(by: name, after: number, limit: limit),
                    try ledger.openMails(from: isLate ? .max : nil).map { "\($0)" }.sorted(),
                ]
                return "\(found)"
            }
        }
    }

    private mutating func look() -> Step {
        let numbers = (0..<4).map { _ in number(1...30) }
        let name = happens(50) ? PathKey(self.name()) : nil
        let limit = Int(number(0...4))
        var paths = LedgerPaths()
        for _ in 0..<4 {
            let path = (0...number(0...3)).map { _ in self.name() }.joined(separator: "/")
            _ = (try? RelativePath(path)).map { paths.add($0) }
        }
        switch number(0...9) {
        case 0...2:
            return Step("look \(paths.paths)") { [paths] in try $0.look(paths).description }
        case 3: return Step("nodes \(numbers)") { try $0.nodes(numbers).description }
        case 4: return Step("paths \(numbers)") { try $0.paths(of: numbers).description }
        case 5:
            let client = .max - number(1...6)
            return Step("sum \(numbers) of \(client)") {
                "\(try $0.sum(below: numbers)) \(try $0.use(of: client, outside: numbers))"
            }
        case 6:
            return Step("list \(numbers[0])") { try $0.list(numbers[0], after: name, limit: limit).description }
        case 7: return Step("files \(numbers[0])") { try $0.files(after: numbers[0], limit: limit).description }
        case 8:
            return Step("entries in \(numbers)") { ledger in
                let pages = try ledger.entries(in: numbers[0], after: name, limit: limit)
                let found = try ledger.entries(of: numbers)
                return "\(pages.map { ($0.node.number, $0.entries.map(\.entry)) }) \(found.map { $0.map(\.entry) })"
            }
        default:
            let ids = [id(), id()]
            return Step("entries \(ids)") { [paths] ledger in
                let both = try ledger.entries(ids, looking: paths)
                let all = try ledger.entries(after: 0, limit: .max)
                let page = try ledger.entries(after: all.dropFirst(2).first?.number ?? 0, limit: limit)
                return "\(try ledger.entries(ids).map { $0?.entry }) \(page.map(\.entry)) "
                    + "\(both.entries.map { $0?.entry }) \(both.nodes) "
                    + "\(try ledger.receipts(with: UInt64(limit) + 10) as Any)"
            }
        }
    }

    // MARK: Unfinished uploads

    private mutating func upload(_ rows: ModelRows) -> Step {
        let id = id()
        var row = rows.uploads[id]?.row ?? OpenUploadRow(id: id, epoch: number(1...3), reserved: 0, written: 0)
        if happens(10) { row.epoch += 1 }
        (row.reserved, row.written) = (number(0...9), Int64(number(0...9)))
        // An upload that is not known usually begins.
        let choice = number(0...9)
        switch rows.uploads[id] == nil && choice < 6 ? 0 : choice {
        case 0...1:
            if happens(50) {
                row.append = OpenUploadRow.Append(declaration: [1], kept: AppendMark(offset: 0))
            }
            return Step("begin \(row)") { [row] in "\(try $0.begin(row, limit: 4))" }
        case 6: return Step("take over \(id)") { "\(try $0.takeOver(id) as Any)" }
        case 7:
            let start = number(0...30)
            let range = start..<start + number(0...10)
            return Step("upload \(id) \(range)") { ledger in
                "\(try ledger.upload(id) as Any) \(try ledger.epoch(of: id, range) as Any) \(try ledger.uploads())"
            }
        default: return replace(row, rows)
        }
    }

    private mutating func replace(_ row: OpenUploadRow, _ rows: ModelRows) -> Step {
        var row = row
        let start = number(0...20)
        let range = start..<start + number(0...10)
        if row.append != nil, happens(70) {
            row.append?.kept.offset += number(0...2)
            row.append?.kept.tail = happens(50) ? [1] : []
        }
        let epoch = number(1...4)
        let number = object(self.number(0...9), in: epoch)
        // Half of the parts are in an object that is there.
        let shared = happens(50) ? pick(rows.objects.keys.sorted()) : nil
        var part: PartRow?
        if !range.isEmpty, happens(80) {
            part = PartRow(RecordedPart(range, digests: []), [Extent(range, in: shared ?? number, from: start)])
        }
        let size = range.upperBound - range.lowerBound
        let objects = part == nil || shared != nil ? [] : [ObjectRow(number, size: 99, live: size)]
        return Step("replace \(range) \(part as Any) \(objects) \(row)") { [row, part] ledger in
            try ledger.replace(range, by: part, objects, in: row, epoch: objects.isEmpty ? nil : epoch)
            return "replaced"
        }
    }

    // MARK: Changes

    private mutating func name() -> String { ["a", "b", "c", "é", "e\u{301}"][Int(number(0...4))] }

    private mutating func changes(_ rows: ModelRows) -> LedgerChanges {
        var changes = LedgerChanges()
        for _ in 0...number(0...3) {
            switch number(0...9) {
            case 0...3: make(&changes, rows)
            case 4...5: update(&changes, rows)
            case 6...7: remove(&changes, rows)
            case 8: record(&changes, rows)
            default: end(&changes, rows)
            }
        }
        if happens(5) { changes.epochs.insert(number(1...5)) }
        if happens(5) { changes.expected[number(2...30)] = Int64(number(1...3)) }
        if happens(10) { changes.sound.insert(number(2...30)) }
        // What the steps have done to each other is no part of the test.
        for number in changes.made.keys { changes.expected[number] = nil }
        return changes
    }

    /// Relies on a node, sometimes on one that it was before.
    private mutating func expect(_ node: NodeRow, _ changes: inout LedgerChanges) {
        guard changes.expected[node.number] == nil else { return }
        changes.expected[node.number] = happens(4) ? node.touch - 1 : node.touch
    }

    /// A folder for a node, which the changes then rely on.
    private mutating func folder(_ changes: inout LedgerChanges, _ rows: ModelRows) -> UInt64 {
        let folders = rows.nodes.values.filter { $0.isFolder && !changes.removed.contains($0.number) }
            .sorted { $0.number < $1.number }
        guard happens(70), let folder = pick(folders) else { return NodeRow.top }
        expect(folder, &changes)
        return folder.number
    }

    private mutating func make(_ changes: inout LedgerChanges, _ rows: ModelRows) {
        let number = number(2...30)
        guard rows.nodes[number] == nil || happens(3), changes.expected[number] == nil, changes.made[number] == nil
        else { return }
        var node = NodeRow.folder(number, name(), in: folder(&changes, rows))
        switch self.number(0...9) {
        case 0...2: break
        case 3: node.form = .link([1, 2])
        case 4:
            let empty = FileRow(size: 0, digest: sampleDigest(), content: .whole(.none, at: 0), command: .max)
            node.form = .file(empty)
        default: fill(&node, &changes, rows)
        }
        changes.made[number] = node
    }

    private mutating func fill(_ node: inout NodeRow, _ changes: inout LedgerChanges, _ rows: ModelRows) {
        let size = number(1...9)
        let found: ObjectNumber
        if happens(50), let object = pick(rows.objects.keys.sorted()) {
            found = object
        } else {
            let epoch = number(1...4)
            found = object(number(0...9), in: epoch)
            guard !changes.objects.contains(where: { $0.number == found }) else { return }
            changes.epochs.insert(epoch)
            changes.objects.append(ObjectRow(found, size: 9, live: 0))
        }
        let (isHoled, isDescribed) = (happens(30), happens(50))
        let extents = [Extent(2..<2 + size, in: found, from: 1)]
        let file = FileRow(
            size: isHoled ? size + 5 : size, digest: sampleDigest(node.number),
            content: isHoled ? .extents(filled: size, described: isDescribed ? found : .none) : .whole(found, at: 3))
        node.form = .file(file)
        if isHoled { changes.extents[node.number] = extents }
        changes.count(file, 1, isHoled ? extents : [])
    }

    private mutating func update(_ changes: inout LedgerChanges, _ rows: ModelRows) {
        let nodes = rows.nodes.values.sorted { $0.number < $1.number }
        guard var node = pick(nodes), !changes.removed.contains(node.number) else { return }
        expect(node, &changes)
        node.touch += 1
        switch number(0...3) {
        case 0...1: node.name = PathKey(name())
        case 2: node.extra = ExtraAttributes(owner: .init(user: 1, group: UInt32(number(0...9))))
        default:
            let target = folder(&changes, rows)
            guard !rows.isBelow(target, node.number) else { return }
            node.folder = target
        }
        changes.updated[node.number] = node
        // Two nodes often exchange their names.
        guard happens(40), let other = pick(nodes), other.number != node.number, other.folder == node.folder,
            !changes.removed.contains(other.number), changes.updated[other.number] == nil
        else { return }
        expect(other, &changes)
        changes.updated[other.number] = other.named(rows.nodes[node.number]?.name.string ?? "", touch: other.touch + 1)
        changes.updated[node.number]?.name = other.name
    }

    private mutating func remove(_ changes: inout LedgerChanges, _ rows: ModelRows) {
        guard let node = pick(rows.nodes.values.sorted { $0.number < $1.number }),
            !changes.removed.contains(node.number),
            !changes.made.values.contains(where: { $0.folder == node.number }), changes.updated[node.number] == nil,
            !changes.updated.values.contains(where: { $0.folder == node.number }),
            !changes.entries.contains(where: { $0.node == node.number })
        else { return }
        expect(node, &changes)
        changes.removed.insert(node.number)
        if let file = node.file { changes.count(file, -1, rows.extents[node.number] ?? []) }
    }

    private mutating func record(_ changes: inout LedgerChanges, _ rows: ModelRows) {
        var number: UInt64?
        for _ in 0...self.number(0...2) {
            guard let node = pick(rows.nodes.values.sorted { $0.number < $1.number }),
                !changes.removed.contains(node.number)
            else { continue }
            expect(node, &changes)
            if happens(50) { number = number.map { $0 + 1 } ?? 10 + self.number(0...3) }
            let digest = [nil, node.file?.digest, sampleDigest(1)][Int(self.number(0...2))]
            changes.entries.append(
                EntryRow(
                    self.number(1...6), of: node.number, state: happens(50) ? .committed : .alreadyStored,
                    size: self.number(0...9), digest: digest, receipt: number))
        }
        for node in rows.nodes.values.sorted(by: { $0.number < $1.number }).prefix(3) where happens(50) {
            expect(node, &changes)
            changes.outlived.insert(node.number)
        }
        guard let number else { return }
        let first = changes.entries.compactMap(\.entry.receipt).min() ?? number
        changes.receipts = SignedBatch(
            number: first, time: 1, count: Int(number - first) + 1, signature: [7], sender: "s")
    }

    private mutating func end(_ changes: inout LedgerChanges, _ rows: ModelRows) {
        let id = id()
        guard let upload = rows.uploads[id] else { return }
        changes.ended[id] = happens(10) ? upload.row.epoch + 1 : upload.row.epoch
        guard happens(2) else { return }
        changes.untouched[id] = happens(4) ? upload.row.written - 1 : upload.row.written
    }
}

extension ModelRows {
    /// Whether a folder is a node, or below the node.
    fileprivate func isBelow(_ folder: UInt64, _ number: UInt64) -> Bool {
        var folder = folder
        for _ in 0...nodes.count {
            if folder == number { return true }
            guard let above = nodes[folder]?.folder else { return false }
            folder = above
        }
        return true
    }
}

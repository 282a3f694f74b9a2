import TransferModel

/// What was promised, and whether it is kept.
struct Promises {
    /// What may stand under a path.
    struct Path {
        /// What was published there, the oldest first that may still be found.
        var published: [Published] = []
        /// Whether the first of them was acknowledged, so that one of them has to be there.
        var isPromised = false
    }

    /// A content that has got a name, as the how many-th of all.
    struct Published {
        let content: Int
        let number: Int
    }

    var paths: [String: Path] = [:] {
        didSet { version += 1 }
    }
    /// What was promised and is on its way to another path.
    var movings: [Moving] = [] {
        didSet { version += 1 }
    }
    /// What the catalog has to know since it was moved.
    var known: [Medium.Object: Known] = [:]
    /// Grows with every change of what has to be there.
    private(set) var version = 0
    /// Names that contents have got so far.
    var publications = 0
    /// Contents that were ever published under a path, and those of them that others have changed since.
    var ever: [String: Set<Int>] = [:]
    var voided: [String: Set<Int>] = [:]
    /// Changes that others have made so far, and the last one of each path.
    private(set) var changes = 0
    private var lastChanges: [String: Int] = [:]
    /// Paths that each content was published under and that nobody else has touched since, with the changes that others had
    /// made by then.
    var places: [Int: [String: Int]] = [:]

    /// A content has got a name.
    mutating func published(_ content: Int, at path: String) {
        publications += 1
        movings.removeAll { $0.places.last == path }
        paths[path, default: Path()].published.append(Published(content: content, number: publications))
        ever[path, default: []].insert(content)
        voided[path]?.remove(content)
        places[content, default: [:]][path] = changes
    }

    /// A content has given way to another one and is kept at a place in the trash, from where nobody publishes it.
    ///
    /// - Parameter isPromised: whether it has to stay there; otherwise it may.
    mutating func kept(_ content: Int, at place: String, isPromised: Bool) {
        publications += 1
        let isPromised = isPromised || paths[place]?.isPromised ?? false
        paths[place] = Path(published: [Published(content: content, number: publications)], isPromised: isPromised)
        ever[place, default: []].insert(content)
        voided[place]?.remove(content)
    }

    /// It is kept at another place, where it was all the time.
    mutating func kept(from place: String, at other: String) {
        guard let known = paths.removeValue(forKey: place) else { return }
        paths[other] = known
        for published in known.published { ever[other, default: []].insert(published.content) }
    }

    /// Whether a content was ever published under a path.
    func had(_ content: Int, at path: String) -> Bool { ever[path]?.contains(content) ?? false }

    /// A durable acknowledgement was given for a content at a path.
    ///
    /// - Parameters:
    ///   - changes: those that others had made when it was published, or found.
    ///   - publications: names that contents had got by then.
    /// - Throws: when it was never there.
    mutating func acknowledged(
        _ content: Int, at path: String, since changes: Int, upTo publications: Int
    ) throws(Broken) {
        guard ever[path]?.contains(content) ?? false else {
            throw Broken("content \(content) was acknowledged under \(path), where it never was")
        }
        // Somebody else has changed it, or a newer one was acknowledged there.
        guard var known = paths[path],
            let index = known.published.lastIndex(where: { $0.content == content && $0.number <= publications }),
            !(voided[path]?.contains(content) ?? false), lastChanges[path] ?? 0 <= changes
        else { return }
        // What came behind it has replaced it, and may be acknowledged later.
        known.published.removeFirst(index)
        known.isPromised = true
        paths[path] = known
    }

    /// Somebody else has changed what is there.
    mutating func changed(_ path: String) {
        noteChange(of: path)
        movings.removeAll { $0.places.last == path }
        for known in paths[path]?.published ?? [] { places[known.content]?[path] = nil }
        voided[path, default: []].formUnion(ever[path] ?? [])
        paths[path] = nil
        forgetEarlier(path)
    }

    /// The disk has lost what was acknowledged there. What has come behind it may be there, and is promised when it is acknowledged.
    mutating func lost(at path: String) {
        paths[path]?.isPromised = false
    }

    mutating func noteChange(of path: String) {
        changes += 1
        lastChanges[path] = changes
    }

    /// Whether everything that was promised is on the medium that a power cut would leave now.
    ///
    /// - Parameter content: what a number stands for.
    func check(_ medium: Medium, _ contents: (Int) -> [UInt8]) throws(Broken) {
        try checkMovings(medium, contents)
        for (path, known) in paths where known.isPromised {
            for possibility in medium.possibilities(at: path) {
                switch possibility {
                case .content(let bytes) where known.published.contains(where: { contents($0.content) == bytes }):
                    continue
                case .content: throw Broken("what was acknowledged under \(path) may be other content on disk")
                case .nothing: throw Broken("what was acknowledged under \(path) may be gone from the disk")
                case .uncertain: throw Broken("what was acknowledged under \(path) is not all on disk")
                }
            }
        }
    }

    /// What is found after the power was cut is what there is now.
    mutating func settle(_ medium: Medium, _ contents: (Int) -> [UInt8]) throws(Broken) {
        try settleMovings(medium, contents)
        for (path, known) in paths {
            let found = medium.seen(at: path)
            let index = known.published.lastIndex { contents($0.content) == found }
            if known.isPromised, index == nil {
                throw Broken("after a power cut, \(path) is \(found == nil ? "gone" : "other content")")
            }
            if found == nil { noteChange(of: path) }
            let left = index.map { known.published[$0] }
            for published in known.published where published.content != left?.content {
                places[published.content]?[path] = nil
            }
            paths[path] = left.map { Path(published: [$0], isPromised: known.isPromised) }
        }
    }

    /// Paths that a content has now, by what every program sees.
    func places(of content: Int, _ medium: Medium, _ contents: (Int) -> [UInt8]) -> [String] {
        (places[content] ?? [:]).keys.filter { medium.seen(at: $0) == contents(content) }.sorted()
    }

    /// Whether others have changed a path since a content was published under another one: it may have become free.
    func hasChanged(_ path: String, since other: String, had content: Int) -> Bool {
        lastChanges[path] ?? 0 > places[content]?[other] ?? 0
    }
}

import TransferModel

/// The promises of the server, and checks that they are kept.
struct Promises {
    /// Contents that may be at a path.
    struct Path {
        /// Contents that were published at the path and may still be found there, the oldest first.
        var published: [Published] = []
        /// Whether the oldest of these contents was acknowledged, so that one of them must be at the path.
        var isPromised = false
    }

    /// A content that has got a name, and the number of this publication among all.
    struct Published {
        let content: Int
        let number: Int
    }

    var paths: [String: Path] = [:] {
        didSet { version += 1 }
    }
    /// Promised contents that are being moved to other paths.
    var movings: [Moving] = [] {
        didSet { version += 1 }
    }
    /// Moved files that the catalog has to know.
    var known: [Medium.Object: Known] = [:]
    /// Number that grows with every change of the contents that must be at paths.
    private(set) var version = 0
    /// Number of names that contents have got so far.
    var publications = 0
    /// Contents that were ever published under a path, and those of them that other programs have changed since.
    var ever: [String: Set<Int>] = [:]
    var voided: [String: Set<Int>] = [:]
    /// Number of changes by other programs so far, and the number of the last one of each path.
    private(set) var changes = 0
    private var lastChanges: [String: Int] = [:]
    /// Paths under which each content was published and which no other program has touched since, with the number of
    /// changes by other programs at the time.
    var places: [Int: [String: Int]] = [:]

    /// Records that a content has got a name.
    mutating func published(_ content: Int, at path: String) {
        publications += 1
        movings.removeAll { $0.places.last == path }
        paths[path, default: Path()].published.append(Published(content: content, number: publications))
        ever[path, default: []].insert(content)
        voided[path]?.remove(content)
        places[content, default: [:]][path] = changes
    }

    /// Records that a replaced content is kept at a path in the trash, from where no client publishes it.
    ///
    /// - Parameter isPromised: whether the content must stay in the trash. If false, it may stay or go.
    mutating func kept(_ content: Int, at place: String, isPromised: Bool) {
        publications += 1
        let isPromised = isPromised || paths[place]?.isPromised ?? false
        paths[place] = Path(published: [Published(content: content, number: publications)], isPromised: isPromised)
        ever[place, default: []].insert(content)
        voided[place]?.remove(content)
    }

    /// Records that kept content is at another path, where it was all the time.
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
    ///   - changes: number of changes by other programs when the content was published or found.
    ///   - publications: number of names that contents had got until that moment.
    /// - Throws: if the content was never at the path.
    mutating func acknowledged(
        _ content: Int, at path: String, since changes: Int, upTo publications: Int
    ) throws(Broken) {
        guard ever[path]?.contains(content) ?? false else {
            throw Broken("content \(content) was acknowledged under \(path), where it never was")
        }
        // If another program has changed the path, or a newer content was acknowledged at the path, the acknowledgement
        // no longer promises anything.
        guard var known = paths[path],
            let index = known.published.lastIndex(where: { $0.content == content && $0.number <= publications }),
            !(voided[path]?.contains(content) ?? false), lastChanges[path] ?? 0 <= changes
        else { return }
        // Earlier contents are gone from the path. Later contents stay in the list: they have replaced this one, and
        // may be acknowledged later.
        known.published.removeFirst(index)
        known.isPromised = true
        paths[path] = known
    }

    /// Another program has changed the file at a path.
    mutating func changed(_ path: String) {
        noteChange(of: path)
        movings.removeAll { $0.places.last == path }
        for known in paths[path]?.published ?? [] { places[known.content]?[path] = nil }
        voided[path, default: []].formUnion(ever[path] ?? [])
        paths[path] = nil
        forgetEarlier(path)
    }

    /// The disk has lost the acknowledged content of a path. A later content may be at the path, and is promised when
    /// it is acknowledged.
    mutating func lost(at path: String) {
        paths[path]?.isPromised = false
    }

    mutating func noteChange(of path: String) {
        changes += 1
        lastChanges[path] = changes
    }

    /// Checks that a power cut now would leave everything that was promised.
    ///
    /// - Parameter contents: the bytes of a content, by its number.
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

    /// Takes over what a power cut has left: each path has only the content that is found at the path.
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

    /// Paths at which every program sees a content now.
    func places(of content: Int, _ medium: Medium, _ contents: (Int) -> [UInt8]) -> [String] {
        (places[content] ?? [:]).keys.filter { medium.seen(at: $0) == contents(content) }.sorted()
    }

    /// Whether `path` was changed since `content` was published at `other`. If so, another file may have been at `path`
    /// at the time of that publication.
    func hasChanged(_ path: String, since other: String, had content: Int) -> Bool {
        lastChanges[path] ?? 0 > places[content]?[other] ?? 0
    }
}

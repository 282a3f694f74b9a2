/// A pattern over paths of which a part at the end is not known, taken apart by its folders, so that only those have to be
/// looked into that something can match in.
struct PathGlob: Sendable {
    private enum Component: Sendable {
        /// `**`: any folders, or none.
        case folders
        case name(GlobPattern)
    }

    /// Where somebody who goes down through folders is in the pattern.
    struct Place: Sendable, Equatable {
        /// Components of the pattern that may come next, in their order.
        fileprivate var next: [Int]
        /// Folders that were gone through, from `folder` on.
        fileprivate var depth = 0
    }

    /// What a name is to the pattern.
    struct Step: Sendable {
        /// Whether the path matches.
        let isMatch: Bool
        /// Where one is in a folder of the name; nothing where nothing in it can match.
        let below: Place?
    }

    /// Where to begin.
    let folder: String

    private let components: [Component]
    private let ignoresCase: Bool
    /// Components at the front that are names, and not part of what the found is called.
    private let named: Int
    private let isForFolders: Bool

    /// - Parameters:
    ///   - text: slashes at its end are for folders only; one in front means nothing.
    ///   - ignoresCase: whether names that differ by the case of their letters alone are the same.
    /// - Returns: nothing for a text that can be but one path, or is too long.
    init?(_ text: String, ignoresCase: Bool) {
        let slash = UInt8(ascii: "/")
        let parts = text.utf8.split(separator: slash).map { Substring($0) }.filter { $0 != "." }
        guard text.utf8.count <= GlobPattern.longest, !parts.isEmpty else { return nil }
        var components: [Component] = []
        var names: [String] = []
        for part in parts {
            guard let pattern = GlobPattern(part, isAnchored: true) else { return nil }
            components.append(part == "**" ? .folders : .name(pattern))
            if let name = pattern.literal, part != "**", names.count == components.count - 1 { names.append(name) }
        }
        guard names.count < components.count || ignoresCase else { return nil }
        // What is found has a name of its own.
        names.removeLast(max(0, names.count - components.count + 1))
        (folder, named) = ignoresCase ? ("", names.count) : (names.joined(separator: "/"), 0)
        self.components = Array(components.dropFirst(ignoresCase ? 0 : names.count))
        self.ignoresCase = ignoresCase
        isForFolders = text.utf8.last == slash
    }

    /// Where one is in `folder`.
    var start: Place { place([0], depth: 0) }

    /// Whether a name in a folder is part of what is found there is called.
    func isKept(at place: Place) -> Bool { place.depth >= named }

    /// - Parameter place: where one is in the folder that the name is in.
    func step(over name: String, isDirectory: Bool, at place: Place) -> Step {
        var next: [Int] = []
        for index in place.next where index < components.count {
            switch components[index] {
            case .folders: next.append(index)
            case .name(let pattern):
                if pattern.matches(name, ignoresCase: ignoresCase) { next.append(index + 1) }
            }
        }
        let below = self.place(next, depth: place.depth + 1)
        let isMatch = below.next.last == components.count && (isDirectory || !isForFolders)
        return Step(isMatch: isMatch, below: isDirectory && below.next.contains { $0 < components.count } ? below : nil)
    }

    /// Folders can be none.
    private func place(_ next: [Int], depth: Int) -> Place {
        var all = Set(next)
        for index in next.sorted() {
            var index = index
            while index < components.count, case .folders = components[index] {
                index += 1
                all.insert(index)
            }
        }
        return Place(next: all.sorted(), depth: depth)
    }
}

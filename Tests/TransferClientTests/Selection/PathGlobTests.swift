import Testing

@testable import TransferClient

/// Folders that a walk must list for a pattern, and the matches in them.
@Suite struct PathGlobTests {
    /// A slash at the end marks a folder.
    private static let tree = [
        "a.jpg", "b.JPG", "photos/", "photos/2024/", "photos/2024/a.jpg", "photos/2024/deep/", "photos/2024/deep/d.jpg",
        "photos/2025/", "photos/2025/n.txt", "photos/top.jpg", "text/", "text/a.txt",
    ]

    private static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }

    /// Matches and the folders listed on the way, in the order of a pull.
    private func walk(_ glob: PathGlob) -> (matches: [String], looked: [String]) {
        var (matches, looked): ([String], [String]) = ([], [])
        var waiting = [(glob.folder, glob.start)]
        while let (folder, place) = waiting.popLast() {
            looked.append(folder)
            for path in Self.tree where Self.parent(path) == folder {
                let isDirectory = path.hasSuffix("/")
                let step = glob.step(over: Self.name(path), isDirectory: isDirectory, at: place)
                if step.isMatch {
                    matches.append(path)
                } else if let below = step.below {
                    waiting.append((String(path.dropLast()), below))
                }
            }
        }
        return (matches.sorted(), looked.sorted())
    }

    private static func parent(_ path: String) -> String {
        path.split(separator: "/").dropLast().joined(separator: "/")
    }

    @Test(arguments: [
        ("*.jpg", ["a.jpg"], [""]), ("*", ["a.jpg", "b.JPG", "photos/", "text/"], [""]),
        ("*/", ["photos/", "text/"], [""]),
        ("photos/*.jpg", ["photos/top.jpg"], ["photos"]), ("/photos//./*.jpg", ["photos/top.jpg"], ["photos"]),
        (
            "photos/*/a.jpg", ["photos/2024/a.jpg"], ["photos", "photos/2024", "photos/2025"]
        ),
        ("*/2024/a.*", ["photos/2024/a.jpg"], ["", "photos", "photos/2024", "text"]),
        (
            "photos/**/*.jpg", ["photos/2024/a.jpg", "photos/2024/deep/d.jpg", "photos/top.jpg"],
            ["photos", "photos/2024", "photos/2024/deep", "photos/2025"]
        ),
        ("photos/**", ["photos/2024/", "photos/2025/", "photos/top.jpg"], ["photos"]),
        ("**/deep", ["photos/2024/deep/"], ["", "photos", "photos/2024", "photos/2025", "text"]),
        (
            "**/2024/**/d.jpg", ["photos/2024/deep/d.jpg"],
            ["", "photos", "photos/2024", "photos/2024/deep", "photos/2025", "text"]
        ),
        (
            "photos/202[45]/[!n]*", ["photos/2024/a.jpg", "photos/2024/deep/"],
            ["photos", "photos/2024", "photos/2025"]
        ),
        ("ph\\otos/t?p.jpg", ["photos/top.jpg"], ["photos"]), ("x/*", [], ["x"]),
    ])
    func patterns(_ pattern: String, _ matches: [String], _ looked: [String]) throws {
        let glob = try #require(PathGlob(pattern, ignoresCase: false))
        let walk = walk(glob)
        #expect(walk.matches == matches, "\(pattern)")
        #expect(walk.looked == looked, "\(pattern)")
    }

    /// Without case, the walk must also list the folders before the first wildcard.
    @Test(arguments: [
        ("*.jpg", ["a.jpg", "b.JPG"], [""]), ("B.jpg", ["b.JPG"], [""]),
        ("PHOTOS/2024/A.jpg", ["photos/2024/a.jpg"], ["", "photos", "photos/2024"]),
        ("Photos/T[O]P.*", ["photos/top.jpg"], ["", "photos"]),
    ])
    func withoutCase(_ pattern: String, _ matches: [String], _ looked: [String]) throws {
        let glob = try #require(PathGlob(pattern, ignoresCase: true))
        let walk = walk(glob)
        #expect(walk.matches == matches && walk.looked == looked, "\(pattern)")
    }

    @Test(arguments: ["a", "a/b", "\\*", "a/\\[b]", "", "/", ".", "a]", "a[", "a\\"]) func whatIsOnePathIsNoPattern(
        _ text: String
    ) {
        #expect(PathGlob(text, ignoresCase: false) == nil)
    }

    @Test func whatIsTooLongIsNone() {
        #expect(PathGlob(String(repeating: "*", count: 5000), ignoresCase: false) == nil)
        #expect(PathGlob(String(repeating: "*/", count: 2000), ignoresCase: false) != nil)
    }

    /// A match is named by its path from the first wildcard on, in whichever folder the walk starts.
    @Test(arguments: [
        ("photos/2024/*.jpg", false, 0), ("photos/2024/*.jpg", true, 2), ("photos/2024/a.jpg", true, 2),
        ("*/a", true, 0),
    ])
    func whatIsPartOfTheName(_ pattern: String, _ ignoresCase: Bool, _ folders: Int) throws {
        let glob = try #require(PathGlob(pattern, ignoresCase: ignoresCase))
        var place = glob.start
        for name in ["photos", "2024"].prefix(folders) {
            #expect(!glob.isKept(at: place))
            place = try #require(glob.step(over: name, isDirectory: true, at: place).below)
        }
        #expect(glob.isKept(at: place))
    }
}

import Testing
import TransferModel

/// Names that are appended to the path of a folder.
@Suite struct PathAcceptanceTests {
    private static let names =
        [
            "a", "a b", ".a", ".", "..", "", "a/b", "/", "a\0", "\u{E9}", "e\u{301}", ".transfer", ".Transfer",
            ".transfer-parts",
        ]
        + [254, 255, 256].map { String(repeating: "n", count: $0) }

    /// Some folders leave just enough room, or just too little: in components, and in bytes.
    private static let folders: [String?] =
        [nil, "d", "d/e"]
        + (-2...0).map { String(repeating: "d/", count: Limits.pathDepth - 1 + $0) + "d" }
        + (-3...0).map { excess in
            let above = Array(repeating: String(repeating: "p", count: 200), count: (Limits.path - 250) / 201)
                .joined(separator: "/")
            return above + "/" + String(repeating: "q", count: Limits.path - above.utf8.count - 1 + excess)
        }

    /// The check without making the path agrees with the check of the whole path.
    @Test(arguments: folders) func asForTheWholePath(_ folder: String?) {
        let above = folder.flatMap { try? RelativePath($0) }
        guard (above == nil) == (folder == nil) else { return }
        for name in Self.names {
            let isPath = (try? RelativePath(folder.map { "\($0)/\(name)" } ?? name)) != nil
            #expect(
                RelativePath.accepts(name, in: above) == (isPath && !name.contains("/")), "\(name) in \(folder ?? "")")
        }
    }
}

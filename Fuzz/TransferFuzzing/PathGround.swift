import TransferTestSupport

/// Two stores with links that lead out of them, and the files outside.
final class PathGround {
    let first: PathStore
    let second: PathStore
    private let temporary: TemporaryDirectory
    private let outside: String

    /// - Throws: a finding if the directories cannot be made.
    init() throws(Finding) {
        do throws(TemporaryDirectory.Failure) {
            temporary = try TemporaryDirectory()
        } catch {
            throw Finding("The ground cannot be made: \(error).")
        }
        outside = temporary.path("outside")
        try Files.makeDirectory(outside)
        try Files.makeDirectory(outside + "/sub")
        try Files.makeFile(outside + "/secret")
        first = try PathStore(temporary.path("store1"), outside: outside, usesOpenat2: true)
        second = try PathStore(temporary.path("store2"), outside: outside, usesOpenat2: false)
    }

    /// - Throws: a finding if a file has changed that no upload may change.
    func check() throws(Finding) {
        try require(
            Set(names(in: temporary.path)) == ["outside", "store1", "store2"], "There is a file above the store.")
        try require(Set(names(in: outside)) == ["secret", "sub"], "There is a file outside.")
        try require(names(in: outside + "/sub").isEmpty, "There is a file outside.")
        try require(Files.isEmpty(outside + "/secret"), "A file outside has changed.")
        try first.check()
        try second.check()
    }

    func reset() throws(Finding) {
        try first.reset()
        try second.reset()
    }
}

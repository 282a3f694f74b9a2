/// What is in a folder on a server and in no list of it, because no path can have its name: not UTF-8, too long, or one of
/// Transfer's own. Nobody can fetch or remove it by itself.
public struct UnlistedNames: Sendable, Equatable {
    /// Below the folder of the server's address; empty for that folder itself.
    public let folder: String

    /// Files and folders, and symbolic links where those are listed.
    public let count: UInt64

    /// A sentence for people about the folder, with what to do.
    public var message: String { "\(words) Rename \(count == 1 ? "it" : "them") on the server." }

    /// The sentence alone.
    var words: String {
        let what = count == 1 ? "1 name in it is not listed" : "\(count) names in it are not listed"
        let them = count == 1 ? "it" : "them"
        return "\(what), because no path can have \(them): not UTF-8, too long, or Transfer's own."
    }
}

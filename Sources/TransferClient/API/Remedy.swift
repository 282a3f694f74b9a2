/// What the same command can be given so that it works, for whoever shows commands.
package struct Remedy: Sendable, Equatable {
    /// What it is good for, such as `to go on`.
    package let purpose: String

    /// The flags to add; none where the same command does it.
    package let flags: [String]

    /// Goes on after a lost connection.
    static let goingOn = Remedy(purpose: "to go on", flags: [])

    /// Talks to a server without TLS.
    static let bare = Remedy(purpose: "without encryption", flags: ["--plaintext"])
}

public import TransferProtocol

/// What a program that pushes can choose.
public struct ClientConfiguration: Sendable {
    /// How frames are compressed on the wire.
    public enum Compression: String, Sendable, CaseIterable {
        /// Not at all.
        case none
        /// zlib, frame by frame; a frame that doesn't shrink goes out as it is.
        case zlib
    }

    /// How frames are compressed.
    public var compression = Compression.none

    /// The hash function that guards the content.
    public var digest = DigestFunction.xxh128

    /// What the server does when a name is taken by other content.
    public var conflict = ConflictPolicy.keepBoth

    /// Seconds for which a lost connection is tried again before the push gives up; counted from the last sign of
    /// progress. The first connection of a push is tried once.
    public var retryFor = 60.0

    /// Seconds for connecting and the handshake together.
    public var handshakeTimeout = 10.0

    /// Seconds after which a server that says nothing is given up.
    public var silenceTimeout = 20.0

    /// The program and its version, as told to the server.
    public var agent = "transfer-client"

    /// Whether files are counted ahead, for progress in per cent. Costs one more look at every directory.
    public var countsAhead = false

    /// The defaults.
    public init() {}

    /// How often one upload is tried again after a result that says that it may help.
    static let mostAttempts = 5
}

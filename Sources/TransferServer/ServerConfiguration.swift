package import TransferIO
package import TransferProtocol
package import TransferStore

/// What the operator of a server can choose.
package struct ServerConfiguration: Sendable {
    /// Where to store; made if missing, its parent must exist.
    package var directory: String

    /// Where to listen; at least one.
    package var endpoints: [Endpoint]

    /// How connections are protected.
    package enum Security: Sendable {
        /// TLS with the server's own key, which clients know or learn.
        case identity
        /// TLS with a certificate that others vouch for; paths of PEM files.
        case certificate(String, key: String)
        /// Not at all.
        ///
        /// - Parameter beyondThisMachine: also on addresses that others can reach.
        case plaintext(beyondThisMachine: Bool)

        /// Without protection, where only this machine can connect.
        package static let plaintext = Security.plaintext(beyondThisMachine: false)

        var needsIdentity: Bool {
            if case .identity = self { true } else { false }
        }
    }

    /// How connections are protected.
    package var security = Security.identity

    /// What acknowledgements promise about a crash of the machine.
    package var durability = Durability.commit

    /// How much of the disk uploads may take.
    package var space = SpaceLimits()

    /// Bytes of the largest upload that is taken.
    package var maximumUpload = Limits.uploadSize

    /// Connections at once; more wait in the kernel's queue.
    package var maximumConnections = 4096

    package var timeouts = Liveness.Timeouts()

    /// How long running uploads may go on after the server was told to stop.
    package var drain = Interval.seconds(30)

    /// How long what is known of an unfinished upload stays in memory when every connection that worked on it has gone.
    /// Whoever comes back later has it read from the disk again.
    package var keepParts = Interval.seconds(300)

    /// How long what has arrived of an unfinished upload stays on disk when nothing is added to it.
    package var keepUnfinished = Interval.seconds(7 * 86_400)

    /// Threads that run event loops; a session stays on its loop for life.
    package var loops = 2

    /// Threads for work that blocks.
    package var blockingThreads = 8

    /// Threads that read what has arrived of an unfinished upload before; it is as fast as memory with one for each core.
    package var digestThreads = 4

    /// Uploads of one connection that are published together at most. Each holds a descriptor until then, and what
    /// arrives at once can complete thousands.
    package var filesAtOnce = 256

    /// The program and its version, as told to clients.
    package var agent = ""

    package init(directory: String, endpoints: [Endpoint]) {
        self.directory = directory
        self.endpoints = endpoints
        timeouts.minimumRate = 1024
    }
}

/// Why a server could not start.
package struct ServerError: Error, Equatable, Sendable {
    /// A sentence that says what to do.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}

import Glibc
import TransferCodec
import TransferHTTP
public import TransferKeys
public import TransferModel
import TransferProtocol
import TransferSealing

/// The settings of a `TransferClient`; the defaults fit a client that trusts the servers in its user's list.
public struct ClientConfiguration: Sendable {
    /// How frames are compressed on the wire. The server compresses what it sends with the same methods, and decides
    /// itself when that pays.
    public enum Compression: String, Sendable, CaseIterable {
        /// No compression in either direction.
        case none
        /// zlib, frame by frame; a frame that does not shrink is sent as it is.
        case zlib
        /// zstd, frame by frame, once the server has said that it accepts zstd. Until then, and with a server that does
        /// not accept it, zlib is used.
        case zstd
        /// The method with which the content arrives soonest. Frames are compressed only if the link is the bottleneck,
        /// the codec is faster than the link, and the content shrinks: with zlib if the processor would become the
        /// bottleneck with zstd, otherwise with zstd.
        case auto
    }

    /// The compression of frames on the wire.
    public var compression = Compression.auto

    /// The level of zlib, or of zstd if `compression` is `zstd`: 1 (fast) to 9 (small). With `auto` it is the level of
    /// zlib, and the level of zstd is chosen by measuring.
    public var compressionLevel = 1

    /// The protection of connections against eavesdropping and changes on the way.
    public enum Security: Sendable {
        /// TLS with a server that `ServerTrust` accepts.
        case tls(ServerTrust)
        /// No encryption and no check of the server's identity.
        case plaintext
    }

    /// The protection of all connections of the client.
    public var security = Security.tls(ServerTrust())

    /// The classic framing that the server speaks; nil for this program's own protocol. It requires
    /// `Security.plaintext`.
    package var classic: ClassicTarget?

    /// Whether unencrypted HTTP is allowed only to addresses of this machine, whatever `security` says.
    package var isPlainOnlyHere = false

    /// The folder, owned by this user, with the state that a later run needs to resume uploads to tus servers. If it is
    /// nil, a later run starts such uploads from the beginning. The folder need not exist.
    package var uploadStates: String?

    /// The key that identifies this client to servers, shown only inside TLS; nil to show none.
    package var key: KeyPair?

    /// Whether uploads are sealed for the recipients, so that the server can read neither their content nor their
    /// names. Requires `useSealing(in:)`.
    public var seals = false

    /// The keys with which this client seals for others and opens what others sealed for it; nil if it does neither.
    package var sealing: SealingIdentity?

    /// The token or pairing code with which the client identifies itself to the server. It is sent only inside TLS.
    public var token: String?

    /// A sentence that begins the advice in the error message if the server's name cannot be resolved; usually empty.
    package var nameAdvice = ""

    /// The name that the client suggests for itself to a server that does not know it yet.
    package var machineName = ""

    /// The number of connections (lanes) to the server for one push.
    public enum Lanes: Sendable, Equatable {
        /// As many as help: up to four, or one on a machine with a single core, and no more than there is work for.
        /// With TLS, at most one for each core in the first two seconds. Over a distant line whose congestion control
        /// interprets each loss as a full queue, two at first, and up to 32 as long as more lanes raise the rate.
        case auto
        /// At most this number, 1 to `mostLanes`, and no more than one for each 1,024 bytes a second of `bandwidth`.
        case fixed(Int)
    }

    /// The number of connections to the server for one push. With several, a push sends several files at once, and a
    /// long file in parts.
    public var lanes = Lanes.auto

    /// The hash function that guards the content. Nil selects `sha256` if there are `recipients`, because recipients
    /// sign only that digest, and `xxh128` otherwise.
    public var digest: DigestFunction?

    /// The hash function that the client uses: `digest`, or its default.
    package var digestFunction: DigestFunction {
        digest ?? (recipients.isEmpty ? .xxh128 : .sha256)
    }

    /// What the server does if other content is stored at the path of an upload, and what a pull does if another file
    /// has the local path.
    public var conflict = ConflictPolicy.keepBoth

    /// Whether a pull reads local files and compares their content even if their size and time of modification are
    /// those on the server.
    public var comparesContent = false

    /// Whether a push and a pull keep everything of a tree that a sync keeps: folders, including empty ones, with their
    /// permissions and times; symbolic links as links, including those that the caller names; hard links; exact
    /// permissions, extended attributes, and owners if the storing side is root. Files that exist already get these
    /// attributes as well.
    ///
    /// The server must support the feature `trees`. Archives do not work over HTTP, with classic framings, or with
    /// `recipients`. The client reads the whole sequence of uploads before it sends anything, and looks at every source
    /// twice.
    public var archives = false

    /// The attributes of files that are kept in addition to content and time of modification: exact permissions,
    /// extended attributes, and owners. The server must support the feature `trees`.
    package struct KeptAttributes: Equatable, Sendable {
        /// Whether owners are kept, for which the storing side must be root.
        package var owners: Bool

        package init(owners: Bool) { self.owners = owners }
    }

    /// The attributes that the server must keep of the files that are sent; nil if it stores them like any new file.
    package var kept: KeptAttributes?

    /// The recipients of uploads, by their names in the server's lists of clients. Each gets their own delivery, and no
    /// other client can see it; if the list is empty, uploads are stored under their paths. A push is refused before
    /// any content is sent if a recipient has no mailbox or accepts nothing from this client. The names take at most
    /// `mostRecipientBytes` together.
    public var recipients: [String] = []

    /// The most bytes of all recipients' names together, counting one more byte for each name. The protocol has no room
    /// for more.
    public static let mostRecipientBytes = Recipients.mostBytes

    /// Seconds for which the client retries a lost connection before the push fails, counted from the last progress.
    /// `retriesFirstConnection` says whether that includes the first connection.
    public var retryFor = 60.0

    /// Whether the client retries the first connection, too, for `retryFor` seconds after the first try, for example
    /// because the server is still starting. If false, it tries once and reports a wrong address at once.
    public var retriesFirstConnection = false

    /// The most times that an upload is sent again when the server's result, such as `busy`, says that a retry may
    /// help.
    public var retries = 4

    /// The most bytes a second that all connections together send, or that they receive of stored content. The overhead
    /// of encryption does not count. Nil sets no limit, and a value below `leastBandwidth` counts as `leastBandwidth`.
    public var bandwidth: UInt64?

    /// The least limit of `bandwidth`, in bytes a second. With a lower limit, a server could regard one of many
    /// connections as dead: 16 connections share 16 KiB a second, and servers require 1 KiB a second of each by
    /// default.
    public static let leastBandwidth: UInt64 = 16 << 10

    /// Which of the named files, and which files of directories, are sent or fetched.
    public var selection = Selection()

    /// The most bytes of memory for entries that a server lists.
    package var listMemory = ListBudget.mostBytes

    /// Counts the bytes of content on the way, for displays of the rate; nil to count nothing.
    package var traffic: Traffic?

    /// How lanes share long files; nil to decide by measurements of the connection. Tests set it.
    package var sharing: PartSharing?

    /// The most seconds for connecting and the handshake together.
    public var handshakeTimeout = 10.0

    /// Seconds of silence after which the client gives up a connection.
    public var silenceTimeout = 20.0

    /// Seconds without any part of an answer after which the client gives up a server that still sends signs of life;
    /// `retryFor` applies instead if it is longer. A server sends no part of an answer while it copies a large file.
    public var answerTimeout = 1800.0

    /// The program and its version, which the client sends to the server.
    public var agent = "transfer-client"

    /// Whether each report must have a signed receipt. A push to a server that gives no receipts fails before anything
    /// is sent.
    public var wantsReceipts = false

    /// Whether files are counted in advance, for progress in per cent. A push then reads every directory once more; a
    /// pull lists folders before it fetches from them.
    public var countsAhead = false

    /// Whether one question may ask about all files of a directory before any of them is sent. A large tree that the
    /// other side already has then takes less than half the time. The push or pull reports the files of such a
    /// directory as one `known` event, without their digests. The setting has no effect with receipts or recipients.
    public var asksByFolder = false

    /// Whether a push restores the name of a file or link that `TransferClient.removeSources` has left in a directory
    /// under a temporary name for at least a minute, because the process was killed. The push then sends the file. If
    /// false, the push reports the file as `sourceSkipped`.
    public var givesNamesBack = false

    /// The folder, owned by this user, with the key for the temporary names that `TransferClient.removeSources` gives.
    /// With the key, a client recognizes files that a killed process of this user has left under such names. The folder
    /// is created if it is missing. If it is nil, the key lasts as long as the client, and no file of an earlier
    /// process gets its name back.
    public var removalKeys: String?

    /// Creates a configuration with the defaults.
    public init() {}

    /// The most lanes that `Lanes.fixed` accepts. More lanes only cost the server memory, and eight pushes with this
    /// many already take all connections that a server allows one address by default.
    public static let mostLanes = 32

    /// The number of processor cores that are online.
    static let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
}

extension ClientConfiguration {
    private static let wording = KeyPair.Wording(
        name: "The client's key", harm: "push in its name",
        remedy:
            "If no other user has, run 'chmod 600' on it; otherwise remove it, and have it removed "
            + "from the servers that know it.",
        repair: "Put the file back from a backup, or remove it, and Transfer makes a new key.")

    /// Identifies this client to servers by the key pair in a file. The program `transfer` keeps its user's key pair in
    /// `~/.config/transfer/key.pem`.
    ///
    /// - Parameter path: the file, in PEM format with mode 0600. It is created if it does not exist; its folder must
    ///   exist.
    /// - Returns: the public key, for a server's `authorized_keys`.
    /// - Throws: `TransferFailure` if the file is not a key, if other users can read it, or if it cannot be created.
    @discardableResult
    public mutating func showKey(in path: String) throws(TransferFailure) -> PublicKey {
        do throws(KeyPair.Fault) {
            let pair = try KeyPair.open(path, Self.wording).pair
            key = pair
            return pair.key
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
    }
}

extension ClientConfiguration {
    /// Prepares this client to seal for others, if `seals` is set, and to open what others sealed for it. Call it after
    /// `showKey`, because the client signs what it seals with that key.
    ///
    /// - Parameter folder: an existing folder. It holds `sealing.key`, which is created if it does not exist;
    ///   `known_people`, with the keys of other people as they were first seen; and the state with which interrupted
    ///   pushes are resumed.
    /// - Throws: `TransferFailure` if `showKey` was not called, or if the file is not a key, can be read by other
    ///   users, or cannot be created.
    public mutating func useSealing(in folder: String) throws(TransferFailure) {
        guard let key else { throw .noSealingKey }
        do throws(KeyPair.Fault) {
            let sealing = try SealingKey.open("\(folder)/\(SealingKey.fileName)").key
            self.sealing = SealingIdentity(
                key: key, sealing: sealing, people: KnownPeople(path: "\(folder)/\(KnownPeople.fileName)"))
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
    }
}

extension ClientConfiguration {
    /// The compression methods among which the governor of a push chooses.
    var compressionMode: CompressionGovernor.Mode {
        switch compression {
        case .none: .none
        case .zlib: .fixed(CompressionMethod(.zlib, level: compressionLevel))
        case .zstd: .fixed(CompressionMethod(.zstd, level: compressionLevel))
        case .auto: .auto(zlibLevel: compressionLevel)
        }
    }

    /// The features that say how the server may encode content that it sends.
    var contentFeatures: Features { compressionFeatures.union(.holes) }

    private var compressionFeatures: Features {
        switch compression {
        case .none: []
        case .zlib: .zlib
        case .zstd: .zstd
        case .auto: [.zlib, .zstd]
        }
    }
}

extension ClientConfiguration {
    /// - Throws: `TransferFailure` if a setting is not possible over HTTP, or would send a password unencrypted.
    func check(_ web: WebAddress) throws(TransferFailure) {
        var isEncrypted = false
        if case .tls = security { isEncrypted = true }
        guard isEncrypted == web.isSecure else {
            throw Self.unsupported(
                isEncrypted
                    ? "http:// has no encryption; use https://." : "https:// is encrypted; omit --plaintext.")
        }
        guard web.isSecure || web.credentials == nil else {
            throw TransferFailure(
                reason: .untrusted,
                message:
                    "A password is only sent over encrypted connections, because an eavesdropper could "
                    + "use it. Nothing was sent."
            )
        }
        guard recipients.isEmpty, !seals, classic == nil else {
            throw Self.unsupported("HTTP supports neither recipients nor sealing nor classic framings.")
        }
        guard !wantsReceipts else { throw Self.unsupported("HTTP does not support receipts.") }
    }

    private static func unsupported(_ message: String) -> TransferFailure {
        TransferFailure(reason: .unsupported, message: "\(message) Nothing was sent.")
    }
}

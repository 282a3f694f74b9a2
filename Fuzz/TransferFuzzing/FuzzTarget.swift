/// The parts of the program that the fuzzer runs.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// The frame parser, however its bytes are cut.
    case frames
    /// Every message, decoded and encoded again.
    case messages
    /// The server's side of a connection.
    case server
    /// The client's side of a connection.
    case client
    /// Conversations over several connections, with the real server from the parser to the store.
    case conversations
    /// Inflating, with all installed libraries.
    case inflate
    /// Frames of zstd, whole and damaged.
    case expand
    /// Paths of clients, and the store that resolves them.
    case paths
    /// Receipts in both formats, their verification, and keys as people write them.
    case receipts
    /// The command line, sizes, durations, addresses, and text that is shown.
    case arguments
    /// The user's configuration file, and changes of it.
    case configuration
    /// Access lists with their options, and secrets.
    case access
    /// Links for the first contact with a server.
    case links
    /// The client's list of servers that it knows.
    case knownServers = "known-servers"
    /// The client's list of people that it knows.
    case knownPeople = "known-people"
    /// The client's records of sealed files and of received files.
    case records
    /// Patterns over paths, ignore files, manifests, and the headers of pictures.
    case batches
    /// Sealed files, their keys, notes and states.
    case sealing
    /// The wires of older programs, however their bytes are cut.
    case dialects
    /// Requests and answers of HTTP, however their bytes are cut.
    case http
    /// Forms of HTTP, however their bytes are cut.
    case forms
    /// Values of fields of HTTP, paths, queries, and addresses.
    case fields
    /// Answers of object engines, and what operators write about them.
    case s3Answers = "s3-answers"
    /// The records of uploads that grow.
    case appending
    /// Headers of balancers, however their bytes are cut.
    case proxyHeaders = "proxy-headers"
    /// The datagrams that find servers.
    case discovery
    /// Pictures and videos: their headers, and thumbnails of them.
    case pictures
    /// TLS, with any bytes from the peer or from an attacker between both sides.
    case tls
}

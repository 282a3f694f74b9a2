/// The port of a server.
package enum ServerPort {
    /// Where nobody names one: a server listens on it, and addresses and links mean it.
    package static let usual: UInt16 = 5288
}

internal import TransferClient
private import TransferModel

extension ParsedArguments {
    /// The server that a text names, if it is a remote's.
    ///
    /// - Parameter text: of the flag that asks for a server.
    /// - Returns: nothing for a text that may be an address.
    /// - Throws: `UsageError` for the name of a remote that is not there.
    func remoteServer(_ text: String) throws(UsageError) -> ServerAddress? {
        guard let reference = RemoteReference(text) else { return nil }
        if let remote { return remote.server(reference.folder) }
        guard reference.isOnlyRemote else { return nil }
        throw error("there is no remote '\(reference.name)'; 'transfer remote list' shows those that there are")
    }
}

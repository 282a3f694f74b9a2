package import TransferIO

/// Contexts for the application protocol of nearly all tests.
extension TLSContext {
    package static func server(
        _ identity: TLSIdentity, usesWideAES: Bool = hasWideAES, recordsPerKey: Int = recordsPerKey
    ) throws(TLSError) -> TLSContext {
        try server(identity, protocols: ["transfer/2"], usesWideAES: usesWideAES, recordsPerKey: recordsPerKey)
    }

    package static func client(
        _ identity: TLSIdentity? = nil, recordsPerKey: Int = recordsPerKey
    ) throws(TLSError) -> TLSContext {
        try client(identity, protocols: ["transfer/2"], recordsPerKey: recordsPerKey)
    }
}

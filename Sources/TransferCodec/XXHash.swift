internal import CXXHash

/// The functions of xxHash for digests over pieces: those of the shared library where it is installed and knows this CPU,
/// otherwise those that are linked.
enum XXHash {
    /// Looked for when something is first digested in pieces.
    static let functions = installed ?? cxxhash_linked()

    private static var installed: cxxhash_functions? {
        var functions = cxxhash_functions()
        guard cxxhash_open("libxxhash.so.0", &functions), digestsAsLinked(functions) else { return nil }
        return functions
    }

    /// Whether a text has the digest that it must have.
    private static func digestsAsLinked(_ functions: cxxhash_functions) -> Bool {
        let text = [UInt8](0..<250) + [UInt8](0..<250)
        guard let state = functions.create() else { return false }
        defer { _ = functions.destroy(state) }
        return text.withUnsafeBytes { bytes in
            _ = functions.reset(state)
            _ = functions.update(state, bytes.baseAddress, bytes.count)
            return functions.digest(state).canonicalBytes
                == XXH3_128bits(bytes.baseAddress, bytes.count).canonicalBytes
        }
    }
}

import Glibc

/// The name of this machine.
package enum HostName {
    /// Most bytes of a name, HOST_NAME_MAX (gethostname(2)).
    private static let longest = 64

    /// - Returns: nil if the machine has no name, or one that is not UTF-8.
    package static var own: String? {
        var name = [CChar](repeating: 0, count: longest + 1)
        guard gethostname(&name, longest) == 0 else { return nil }
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
    }
}

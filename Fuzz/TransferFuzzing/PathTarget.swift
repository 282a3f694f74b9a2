import TransferModel
import TransferPorts
import TransferStore

/// Input: uploads, each with a byte (conflict policy, whether it is a part that can be resumed, content) and a path
/// with 0xFF after it. Two stores, one for each way to resolve paths, have to agree; files outside them must not
/// change.
enum PathTarget {
    /// Longer paths are only checked, because their files could not be removed by name.
    private static let longestStored = 2048

    /// More uploads would not show more.
    private static let mostUploads = 8

    static func run(_ bytes: [UInt8], on ground: PathGround) throws(Finding) {
        var input = FuzzInput(bytes)
        var isTouched = false
        for _ in 0..<mostUploads where !input.isEmpty {
            let choice = input.byte()
            let text = input.upTo(0xFF)
            guard let path = try checked(text), text.count <= longestStored else { continue }
            isTouched = true
            let (first, second) = (ground.first.take(path, choice), ground.second.take(path, choice))
            try require(first == second, "With openat2 \(path) is \(first), without it is \(second).")
        }
        guard isTouched else { return }
        try ground.check()
        try ground.reset()
    }

    /// - Returns: nil if the bytes are not a valid path.
    private static func checked(_ bytes: [UInt8]) throws(Finding) -> RelativePath? {
        let path = String(validating: bytes, as: UTF8.self).flatMap { try? RelativePath($0) }
        try require((path != nil) == isPath(bytes), "\(bytes) was \(path == nil ? "refused" : "taken").")
        guard let path else { return nil }
        let joined = path.components.joined(separator: "/")
        try require(joined.utf8.elementsEqual(bytes) && path.string.utf8.elementsEqual(bytes), "\(path) has changed.")
        let parent = path.parent.map { $0.string + "/" } ?? ""
        try require((parent + path.name).utf8.elementsEqual(bytes), "\(path) is not its parent and its name.")
        return path
    }

    /// The rules of docs/reference/protocol.md, one after another.
    private static func isPath(_ bytes: [UInt8]) -> Bool {
        let components = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let text = String(validating: bytes, as: UTF8.self), (1...4095).contains(bytes.count) else {
            return false
        }
        guard components.count <= 128, !bytes.contains(0) else { return false }
        guard components.allSatisfy({ (1...255).contains($0.count) && ![[0x2E], [0x2E, 0x2E]].contains($0) }) else {
            return false
        }
        return text.unicodeScalars.split(separator: "/").allSatisfy { component in
            let seen = component.filter { !$0.properties.isDefaultIgnorableCodePoint }
            return ![".TRANSFER", ".TRANSFER-PARTS"].contains(seen.map(\.properties.uppercaseMapping).joined())
        }
    }
}

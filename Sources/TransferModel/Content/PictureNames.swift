/// Which files may be pictures or videos, by the endings of their names. Their content decides; but only what has such a
/// name is looked at unasked.
package enum PictureNames {
    private static let pictures = ["jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "heic", "heif", "avif"]
    private static let videos = ["mp4", "mov", "m4v"]

    /// - Parameter name: a name or a path.
    package static func isPicture(_ name: String) -> Bool { has(pictures, name) }

    /// - Parameter name: a name or a path.
    package static func isPictureOrVideo(_ name: String) -> Bool { isPicture(name) || has(videos, name) }

    private static func has(_ endings: [String], _ path: String) -> Bool {
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? path.utf8[...]
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return false }
        let ending = name[name.index(after: dot)...].prefix(5).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return endings.contains { $0.utf8.elementsEqual(ending) }
    }
}

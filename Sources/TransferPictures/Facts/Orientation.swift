/// How a stored picture has to be turned or mirrored to be shown, with the values of EXIF (CIPA DC-008, tag 0x0112).
///
/// Each value is an exchange of both axes or none, followed by reflections in the stored picture. This makes applying
/// and combining them arithmetic without cases.
package enum Orientation: UInt8, Sendable, CaseIterable {
    /// Rows and columns are shown as they are stored.
    case upright = 1
    /// Left and right are exchanged.
    case mirrored = 2
    /// Turned by 180° for showing.
    case upsideDown = 3
    /// Top and bottom are exchanged.
    case flipped = 4
    /// Rows are shown as columns.
    case transposed = 5
    /// Turned clockwise by 90° for showing.
    case right = 6
    /// Turned clockwise by 90° and then upside down, mirrored.
    case transversed = 7
    /// Turned counterclockwise by 90° for showing.
    case left = 8

    /// Whether width and height are exchanged.
    package var isTransposed: Bool { rawValue >= 5 }

    /// Whether a shown pixel's column is counted from the right in the stored picture.
    private var isReflectedAcross: Bool {
        switch self {
        case .mirrored, .upsideDown, .transversed, .left: true
        case .upright, .flipped, .transposed, .right: false
        }
    }

    /// Whether a shown pixel's row is counted from the bottom in the stored picture.
    private var isReflectedDown: Bool {
        switch self {
        case .upsideDown, .flipped, .right, .transversed: true
        case .upright, .mirrored, .transposed, .left: false
        }
    }

    private init(isTransposed: Bool, isReflectedAcross: Bool, isReflectedDown: Bool) {
        let found = Self.allCases.first {
            $0.isTransposed == isTransposed && $0.isReflectedAcross == isReflectedAcross
                && $0.isReflectedDown == isReflectedDown
        }
        // The eight values are all combinations of three truths.
        self = found ?? .upright
    }

    /// The orientation that results from this one and then `next`.
    package func followed(by next: Orientation) -> Orientation {
        let (across, down) =
            isTransposed
            ? (next.isReflectedDown, next.isReflectedAcross) : (next.isReflectedAcross, next.isReflectedDown)
        return Orientation(
            isTransposed: isTransposed != next.isTransposed, isReflectedAcross: isReflectedAcross != across,
            isReflectedDown: isReflectedDown != down)
    }

    /// Applies the orientation to pixels.
    func applied(to raster: Raster) -> Raster {
        guard self != .upright else { return raster }
        let (width, height) = (raster.width, raster.height)
        var shown =
            isTransposed ? Raster(width: height, height: width) : Raster(width: width, height: height)
        for y in 0..<shown.height {
            for x in 0..<shown.width {
                var (column, row) = isTransposed ? (y, x) : (x, y)
                if isReflectedAcross { column = width - 1 - column }
                if isReflectedDown { row = height - 1 - row }
                shown.pixels[y * shown.width + x] = raster.pixels[row * width + column]
            }
        }
        return shown
    }
}
